#pragma once

#include <random>
#include <string_view>

#include "broker/base/clock.h"
#include "broker/base/lsn.h"
#include "broker/engine/consumer.h"
#include "broker/engine/job_observer.h"
#include "broker/engine/outcome.h"
#include "broker/engine/verdict.h"

namespace gearstalk {

class Dispatch;
class JobStore;

// The only place that does what becomes of a job that ends badly. Part of the engine.
//
// Judge (verdict.h) decides, End does it; a job with a damaged body is decided here. The record of
// it is appended before anybody else may get the job.
class BadEnds {
 public:
  struct Ended {
    Outcome outcome;
    bool ready = false;  // in its tube, which has not been served yet
  };

  // They outlive its last use.
  BadEnds(JobStore& store, Dispatch& dispatch) : store_(store), dispatch_(dispatch) {}

  // kJournal: what somebody asked for is refused. What nobody asked for makes the job ready then:
  // nothing is lost or failed.
  Ended End(Time now, Job& job, const Ending& ending);
  // What a holder says of its job, or an operator of a job that is held; the tube is served.
  Outcome EndHeld(Time now, const Consumer& holder, JobId id, const Ending& ending);
  // The body of the job is damaged. `taken`: its consumer waits for the body, and does not get it.
  // A job that somebody holds stays with him.
  void BuryDamaged(Time now, JobId id, bool taken);
  // Buries a job in no state.
  Lsn Bury(Time now, Job& job, Finish::Kind kind, const ReportData& text);
  // A waiting job is past its expiry. False: the journal takes no record of it, and the job is
  // delayed until the next try.
  bool Expire(Time now, Job& job);
  // Those that are, at most `steps`, from which it takes theirs.
  void ExpireDue(Time now, int& steps);

 private:
  void NoteCause(Job& job, const Verdict& verdict, std::string_view text);
  void CountEnd(Job& job, BadEnd how);
  void NoteDamage(Job& job);
  void PutOff(Job& job, Time until);
  Lsn RunAgain(Time now, Job& job, const Verdict& verdict, BadEnd how);
  // Deletes, buries or moves a job in no state, as was decided, and tells those who wait for it.
  Lsn Carry(Time now, Job& job, const Verdict& verdict, Finish::Kind kind, const ReportData& text);
  Lsn MoveDead(Time now, Job& job, Finish::Kind kind, const ReportData& text, bool ready);
  void LogFailure(const Job& job, const Verdict& verdict) const;

  JobStore& store_;
  Dispatch& dispatch_;
  std::minstd_rand random_{std::random_device{}()};  // jitter of waits
};

}  // namespace gearstalk
