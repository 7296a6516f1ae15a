#include <string>

#include "proto_beanstalk/commands.h"
#include "proto_beanstalk/reply.h"
#include "proto_beanstalk/session.h"

namespace gearstalk::beanstalk {
Next ReserveUntil(Session& session, Time deadline) {
  if (session.at_eof()) deadline = session.now();
  Taken taken;
  switch (session.engine().Reserve(session.now(), session, deadline, taken)) {
    case ReserveResult::kTaken:
      return session.Reply(
          *taken.job, {.word = "RESERVED", .lsn = taken.lsn, .taken = true, .until = deadline});
    case ReserveResult::kWaits:
      return session.AwaitJob(deadline);
    case ReserveResult::kDeadlineSoon:
      return session.Reply(kDeadlineSoon);
    case ReserveResult::kTimedOut:
      break;
  }
  return session.Reply(kTimedOut);
}

namespace {

Next WriteWatching(Session& session) {
  WriteNumber(session.out(), "WATCHING", session.watched().size());
  return Next::kGoOn;
}

}  // namespace

Next Reserve(Session& session, const Arguments& /*arguments*/) {
  return ReserveUntil(session, kNever);
}

Next ReserveWithTimeout(Session& session, const Arguments& arguments) {
  return ReserveUntil(session, After(session.now(), arguments.timeout_s));
}

Next ReserveJob(Session& session, const Arguments& arguments) {
  const Taken taken = session.engine().ReserveJob(session.now(), session, arguments.id);
  if (taken.job == nullptr) return session.Reply(kNotFound);
  return session.Reply(*taken.job, {.word = "RESERVED", .lsn = taken.lsn, .taken = true});
}

namespace {

// Not inlined: no other deletion pays for its stack.
[[gnu::noinline]] void DeleteByOperator(Session& session, const Job& job) {
  const std::string tube = job.tube().name();
  const JobId id = job.id();
  const Outcome outcome = session.engine().Delete(session.now(), session, id);
  session.NoteAct(
      {.action = "job.delete", .tube = tube, .job = id, .result = ResultOf(outcome.code)});
  WriteOutcome(session.out(), outcome, kDeleted);
}

}  // namespace

Next Delete(Session& session, const Arguments& arguments) {
  const Job* const job = session.HasRules() ? session.engine().Find(arguments.id) : nullptr;
  // A delete of a job that the session holds is a worker's, not an operator's.
  if (job != nullptr && job->holder() != &session && session.OfOperators(job->tube().name())) {
    DeleteByOperator(session, *job);
  } else {
    WriteOutcome(session.out(), session.engine().Delete(session.now(), session, arguments.id),
                 kDeleted);
  }
  return Next::kGoOn;
}

Next Release(Session& session, const Arguments& arguments) {
  const Outcome outcome = session.engine().Release(session.now(), session, arguments.id,
                                                   arguments.priority, arguments.delay_s);
  WriteOutcome(session.out(), outcome, kReleased);
  return Next::kGoOn;
}

Next Bury(Session& session, const Arguments& arguments) {
  const Outcome outcome =
      session.engine().Bury(session.now(), session, arguments.id, arguments.priority);
  WriteOutcome(session.out(), outcome, kBuried);
  return Next::kGoOn;
}

Next Touch(Session& session, const Arguments& arguments) {
  const Outcome outcome = session.engine().Touch(session.now(), session, arguments.id);
  WriteOutcome(session.out(), outcome, kTouched);
  return Next::kGoOn;
}

Next Watch(Session& session, const Arguments& arguments) {
  const Code code = session.engine().Watch(session.now(), session, arguments.tube);
  return code == Code::kOk ? WriteWatching(session) : session.Reply(ErrorReply(code));
}

Next Ignore(Session& session, const Arguments& arguments) {
  const Code code = session.engine().Ignore(session.now(), session, arguments.tube);
  return code == Code::kOk ? WriteWatching(session) : session.Reply(ErrorReply(code));
}

Next Quit(Session& session, const Arguments& /*arguments*/) { return session.Close(); }

}  // namespace gearstalk::beanstalk
