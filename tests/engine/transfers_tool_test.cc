// What a tool sends need not make sense.

#include <vector>

#include "broker/journal/byte_buffer.h"
#include "broker/journal/record_codec.h"
#include "tests/engine/any_records.h"
#include "tests/engine/durable_state.h"
#include "tests/engine/transfers_case.h"

namespace gearstalk {
namespace {

void ExpectReadable(const std::vector<OwnedRecord>& records) {
  RecordCodec codec;
  for (const OwnedRecord& kept : records) {
    const Record record = kept.View();
    ByteBuffer bytes;
    codec.Encode(record, bytes);
    Record decoded;
    const Status read = codec.Decode(bytes.view(), record.body, decoded);
    EXPECT_TRUE(read.ok()) << read.message();
  }
}

TEST_F(TransfersTest, NoBurialIsHigherThanARestartReads) {
  Record job = JobOf("in");
  job.state = Record::State::kBuried;
  job.burial = std::uint64_t{1} << 61;
  std::vector<JobId> ids;
  for (const char* const name : {"a", "b", "c"}) {
    ASSERT_TRUE(transfers().Begin(name, {.kind = "import"}, 0, UINT64_MAX).ok());
    ids.push_back(transfers().Put(Now(), name, job, "key", {}).id);
  }
  ids.push_back(PutInto("in"));
  EXPECT_TRUE(engine.Bury(ids.back(), std::nullopt, false).ok());
  ExpectReadable(journal.records());
  Restarted again(journal.records());
  std::vector<JobId> order;
  again.engine.FindTube("in")->VisitNext(JobState::kBuried, 9,
                                         [&](const Job& each) { order.push_back(each.id()); });
  EXPECT_EQ(ids, order);
}

class ToolTest : public TransfersTest {
 protected:
  void TakeOne(RecordingConsumer& taker, AnyRecords& any) {
    Taken taken;
    if (engine.Reserve(Now(), taker, Now(), taken) != ReserveResult::kTaken) return;
    const JobId id = taken.job->id();
    if (any.Happens(4)) return;
    if (any.Happens(4)) {
      engine.Bury(Now(), taker, id, 5);
    } else if (any.Happens(3)) {
      engine.Release(Now(), taker, id, 7, any.Happens(2) ? 3 : 0);
    } else if (any.Happens(2)) {
      engine.WorkFail(Now(), taker, id);
    } else {
      engine.Delete(Now(), taker, id);
    }
  }
};

TEST_F(ToolTest, AnyJobsLeaveASoundEngineAndTheSameAfterARestart) {
  const PolicyRules rules({{.match = "t",
                            .values = {{"group", "line"},
                                       {"group_order", "fifo"},
                                       {"group_on_failure", "hold"},
                                       {"unique", "body"}}},
                           {.match = "u",
                            .values = {{"expire_after", "9s"},
                                       {"attempts", "2"},
                                       {"backoff", "2s"},
                                       {"on_failure", "move"},
                                       {"dead_tube", "t"}}}});
  engine.SetRules(Now(), rules);
  transfers().Use();
  AnyRecords any(Now());
  RecordingConsumer& taker = Connect("t");
  engine.Watch(Now(), taker, "u");
  std::size_t put = 0;
  for (int step = 0; step < 3000; ++step) {
    Record job = any.Next(any.Happens(2));
    job.kind = Record::Kind::kPut;
    if (job.tube.empty()) job.tube = "u";
    if (any.Happens(4)) {
      job.transfer.held = Record::Held::kFirstPhase;
      transfers().Hold("t", job);
    } else {
      put += transfers().Put(Now(), "t", job, "key", {}).id != 0;
    }
    const auto* const held = transfers().NextHeld(0);
    if (held != nullptr && any.Happens(4)) {
      transfers().Commit(Now(), "t", held->record.View().id);
    }
    const Job* const first = engine.NextJob(0);
    const JobId id = first == nullptr ? 0 : first->id();
    if (any.Happens(4)) transfers().HoldBack("t", id);
    if (any.Happens(2)) engine.Cancel(Now(), id);
    if (any.Happens(4)) TakeOne(taker, any);
    if (any.Happens(8)) Pass(kSecond);
    if (step % 50 != 0) continue;
    ExpectSound();
    ASSERT_FALSE(HasFailure()) << step;
    KeptJournal copy(journal.records());
    Engine again({}, copy);
    again.SetRules(Now(), rules);
    Restart(copy, again);
    ASSERT_EQ("", again.CheckInvariants({})) << step;
    while (again.Tick(Now()) <= Now()) continue;
    Pass(0);
    ASSERT_EQ(DurableState(engine), DurableState(again)) << step;
    ASSERT_EQ(transfers().held(), again.transfers().held()) << step;
    ASSERT_EQ(transfers().Find("t")->Encode(), again.transfers().Find("t")->Encode()) << step;
  }
  EXPECT_GT(put, 300u);
  ExpectReadable(journal.records());
  transfers().Release();
}

}  // namespace
}  // namespace gearstalk
