#include "admin/move/settle.h"

namespace gearstalk::ctl {
namespace {

// The job was buried by us and by nobody since: whoever buries a job reserves it first. beanstalkd
// adds a bury each time that it starts.
bool HasOurMark(const SettleFacts& held, const OldJob& there) {
  return held.was == Record::State::kReady && there.state == OldJob::State::kBuried &&
         there.reserves == held.reserves + 1 && there.buries > held.buries;
}

// Delayed and buried jobs are not changed before they are deleted. A ready job is unchanged again
// if the old server died without having stored our mark.
bool IsAsItWas(const SettleFacts& held, const OldJob& there) {
  const OldJob::State was = held.was == Record::State::kDelayed  ? OldJob::State::kDelayed
                            : held.was == Record::State::kBuried ? OldJob::State::kBuried
                                                                 : OldJob::State::kReady;
  return there.state == was && there.reserves == held.reserves && there.buries == held.buries;
}

}  // namespace

Settlement Settle(const SettleFacts& held, const OldJob& there) {
  if (there.state == OldJob::State::kGone && held.server_lost_all) {
    return held.connected ? Settlement::kCommit : Settlement::kCommitUncertain;
  }
  const bool dead_connection = held.same_server && held.was == Record::State::kReady &&
                               there.state == OldJob::State::kReserved &&
                               there.reserves == held.reserves + 1;
  if (dead_connection) return Settlement::kWait;
  if (held.phase == Record::Held::kFirstPhase)
    return HasOurMark(held, there) ? Settlement::kGoOn : Settlement::kDrop;
  if (HasOurMark(held, there) || IsAsItWas(held, there)) return Settlement::kDelete;
  if (there.state != OldJob::State::kGone) return Settlement::kDrop;
  return held.due ? Settlement::kCommitUncertain : Settlement::kCommit;
}

Settlement SettleHandle(const HandleFacts& facts) {
  // A restarted server gives the same handles to other jobs.
  if (!facts.same_life) return Settlement::kCommitUncertain;
  if (facts.known) return Settlement::kDrop;
  return facts.shared ? Settlement::kCommitUncertain : Settlement::kCommit;
}

}  // namespace gearstalk::ctl
