#include <string>

#include "proto_beanstalk/commands.h"
#include "proto_beanstalk/reply.h"
#include "proto_beanstalk/session.h"

namespace gearstalk::beanstalk {
namespace {

// The answer to a watch or an ignore.
Next ReplyWatching(Session& session, Code code) {
  if (code != Code::kOk) return session.Reply(ErrorReply(code));
  return WriteNumber(session.out(), "WATCHING", session.watched().size());
}

// Not inlined: no other deletion pays for its stack.
[[gnu::noinline]] Next DeleteByOperator(Session& session, const Job& job) {
  const std::string tube = job.tube().name();
  const JobId id = job.id();
  const Outcome outcome = session.engine().Delete(session.now(), session, id);
  session.NoteAct(
      {.action = "job.delete", .tube = tube, .job = id, .result = ResultOf(outcome.code)});
  return WriteOutcome(session.out(), outcome, kDeleted);
}

}  // namespace

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

Next Delete(Session& session, const Arguments& arguments) {
  const Job* const job = session.HasRules() ? session.engine().Find(arguments.id) : nullptr;
  // A delete of a job that the session holds is a worker's, not an operator's.
  if (job != nullptr && job->holder() != &session && session.OfOperators(job->tube().name())) {
    return DeleteByOperator(session, *job);
  }
  return WriteOutcome(session.out(), session.engine().Delete(session.now(), session, arguments.id),
                      kDeleted);
}

Next Release(Session& session, const Arguments& arguments) {
  const Outcome outcome = session.engine().Release(session.now(), session, arguments.id,
                                                   arguments.priority, arguments.delay_s);
  return WriteOutcome(session.out(), outcome, kReleased);
}

Next Bury(Session& session, const Arguments& arguments) {
  const Outcome outcome =
      session.engine().Bury(session.now(), session, arguments.id, arguments.priority);
  return WriteOutcome(session.out(), outcome, kBuried);
}

Next Touch(Session& session, const Arguments& arguments) {
  const Outcome outcome = session.engine().Touch(session.now(), session, arguments.id);
  return WriteOutcome(session.out(), outcome, kTouched);
}

Next Watch(Session& session, const Arguments& arguments) {
  return ReplyWatching(session, session.engine().Watch(session.now(), session, arguments.tube));
}

Next Ignore(Session& session, const Arguments& arguments) {
  return ReplyWatching(session, session.engine().Ignore(session.now(), session, arguments.tube));
}

Next Quit(Session& session, const Arguments& /*arguments*/) { return session.Close(); }

}  // namespace gearstalk::beanstalk
