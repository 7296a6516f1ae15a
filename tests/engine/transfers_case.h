#pragma once

#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "broker/engine/transfers.h"
#include "tests/engine/engine_test.h"
#include "tests/engine/restart.h"

namespace gearstalk {

// An engine with the transfer "t".
class TransfersTest : public EngineTest {
 protected:
  TransfersTest() { EXPECT_TRUE(transfers().Begin("t", {.kind = "import"}, 0, 0).ok()); }

  Transfers& transfers() { return engine.transfers(); }

  static Record JobOf(std::string_view tube, std::uint64_t id = 0) {
    Record job;
    job.tube = tube;
    job.id = id;
    job.priority = 5;
    job.body = "body";
    return job;
  }

  Transfers::Change Settle(std::uint64_t place, const Record& job) {
    transfer::Mark change;
    change.settled = place;
    return transfers().Put(Now(), "t", job, "key", std::move(change));
  }

  JobId Hold(Record::Held phase = Record::Held::kFirstPhase) {
    Record job = JobOf("in");
    job.transfer.held = phase;
    job.transfer.source_id = 77;
    return transfers().Hold("t", job).id;
  }

  struct Restarted {
    explicit Restarted(std::vector<OwnedRecord> records)
        : journal(std::move(records)), engine({}, journal) {
      Restart(journal, engine);
      EXPECT_EQ("", engine.CheckInvariants({}));
    }
    KeptJournal journal;
    Engine engine;
  };
};

}  // namespace gearstalk
