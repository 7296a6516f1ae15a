#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/bodies/shelf_journal.h"
#include "tests/proto_beanstalk/broker.h"

namespace gearstalk {

inline std::string BodyOf(std::uint64_t id, std::size_t size = 300) {
  std::string body = std::to_string(id) + ":";
  body.resize(size, 'x');
  return body;
}

class BodiesTest : public ::testing::Test {
 protected:
  BodiesTest() { Limit(1); }
  ~BodiesTest() override {
    EXPECT_EQ(std::string::npos, broker.engine.CheckInvariants({}).find("bod"));
  }

  void Limit(std::size_t bytes) {
    journal->Answer(broker.engine.records());
    broker.engine.SetLimits({.bodies = bytes});
  }
  void Put(std::size_t size = 300, const std::string& how = "0 0 10") {
    const std::string body = BodyOf(++last, size);
    ASSERT_EQ("INSERTED " + std::to_string(last) + "\r\n",
              a.Say("put " + how + " " + std::to_string(size) + "\r\n" + body + "\r\n"));
    broker.Pass(0);
  }
  void PutMany(int count, std::size_t size = 300) {
    for (int i = 0; i < count; ++i) Put(size);
  }
  static std::string Line(std::string_view word, std::uint64_t id, std::size_t size = 300) {
    return std::string(word) + " " + std::to_string(id) + " " + std::to_string(size) + "\r\n" +
           BodyOf(id, size) + "\r\n";
  }
  BodyCounts Counts() { return broker.engine.Stats().bodies; }
  const Job& Of(std::uint64_t id) { return *broker.engine.Find(id); }

  ShelfJournal* journal = new ShelfJournal;
  beanstalk::Broker broker{{}, std::unique_ptr<Journal>(journal)};
  beanstalk::Client a{broker}, b{broker};
  std::uint64_t last = 0;
};

// A broker that starts with the records of another, and whose bodies leave memory.
struct StartedAgain {
  explicit StartedAgain(std::vector<OwnedRecord> records)
      : journal(new ShelfJournal(std::move(records))) {
    broker.engine.SetLimits({.bodies = 1});
  }
  void Start() {
    NoEvents events;
    ASSERT_TRUE(journal->Start(broker.engine.records(), events).ok());
    broker.engine.records().BecomeActive(broker.clock.Now());
  }

  ShelfJournal* const journal;
  beanstalk::Broker broker{{}, std::unique_ptr<Journal>(journal)};
};

}  // namespace gearstalk
