#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "broker/journal/journal.h"
#include "broker/journal/wal/wal_journal.h"
#include "tests/journal/faulty_file_system.h"
#include "tests/journal/model.h"

namespace gearstalk {

// A live state that has only some of its bodies.
class Cold final : public LiveState {
 public:
  Status Apply(const Record& record) override { return model.Apply(record); }
  bool Capture(std::uint64_t id, const std::function<void(const Record&)>& emit) override {
    return model.Capture(id, [&](Record record) {
      if (cold.contains(id)) {
        record.body_left_out = static_cast<std::uint32_t>(record.body.size());
        record.body = {};
      }
      emit(record);
    });
  }
  void CaptureSettings(const std::function<void(const Record&)>& emit) override {
    model.CaptureSettings(emit);
  }
  std::uint32_t BodyLeftOut(std::uint64_t id) const override {
    return cold.contains(id) ? static_cast<std::uint32_t>(model.state().jobs.at(id).body.size())
                             : 0;
  }
  bool RestsDamaged(std::uint64_t /*id*/) const override { return rests; }
  void OnBody(std::uint64_t id, const BodyRead& read) override {
    results[id].push_back(read.result);
    bodies[id] = read.body;
    order.push_back(id);
    problem = read.problem;
  }

  Model model;
  std::set<std::uint64_t> cold;
  bool rests = true;
  std::map<std::uint64_t, std::vector<BodyRead::Result>> results;
  std::map<std::uint64_t, std::string> bodies;
  std::vector<std::uint64_t> order;
  std::string problem;
};

// A journal whose state is of that kind.
class ColdJournal : public testing::Test {
 protected:
  ColdJournal() {
    options_.directory = "/data";
    options_.file_system = &disk_;
    options_.own_thread = false;
    options_.segment_size = 4096;
    Start();
  }

  void Start() {
    journal_.reset();
    auto opened = WalJournal::Open(options_);
    ASSERT_TRUE(opened.ok());
    journal_ = std::move(opened.value());
    state_ = std::make_unique<Cold>();
    ASSERT_TRUE(journal_->Start(*state_, events_).ok());
    journal_->OnNotify();
  }

  static std::string BodyOf(std::uint64_t id) {
    return std::to_string(id) + std::string(200 + id * 37 % 300, 'b');
  }
  std::uint64_t Put() {
    const std::uint64_t id = state_->model.state().next_id;
    state_->model.Put(*journal_, "t", BodyOf(id));
    return id;
  }
  void Flush() {
    journal_->Flush(0);
    journal_->OnNotify();
  }
  // Jobs come and go, so that old segments may leave the log.
  void Churn() {
    for (int i = 0; i < 100; ++i) {
      state_->model.Delete(*journal_, Put());
      Flush();
    }
  }
  // A bit of the first of these bytes.
  void Flip(const std::string& path, const std::string& where) {
    std::string content = disk_.Content(path);
    content.at(content.find(where)) ^= 1;
    disk_.SetContent(path, content);
  }
  bool Exists(const std::string& path) {
    return disk_.Open(path, FileSystem::Mode::kRead).error == 0;
  }
  void ExpectStoredBytes() {
    EXPECT_EQ(journal_->Segments().stored_bytes + kStateSize, disk_.UsedBytes());
  }
  // Has the body read; its answer is there when it returns.
  BodyRead::Result Read(std::uint64_t id) {
    state_->results.erase(id);
    journal_->Fetch(id, BodyUse::kReply);
    for (int i = 0; i < 3 && !state_->results.contains(id); ++i) Flush();
    return state_->results[id].front();
  }

  FaultyFileSystem disk_;
  WalOptions options_;
  NoEvents events_;
  std::unique_ptr<Cold> state_;
  std::unique_ptr<WalJournal> journal_;
};

}  // namespace gearstalk
