#include <algorithm>

#include "proto_beanstalk/commands.h"
#include "proto_beanstalk/reply.h"
#include "proto_beanstalk/session.h"

namespace gearstalk::beanstalk {
namespace {

// The option's limit, or that of the tube if it is smaller.
std::uint32_t MaxJobSize(Session& session) {
  const std::uint32_t most = session.protocol().max_job_size();
  const Policy* const policy = session.used()->policy();
  return policy == nullptr || policy->max_job_size == 0 ? most
                                                        : std::min(most, policy->max_job_size);
}

}  // namespace

Next Put(Session& session, const Arguments& arguments) {
  if (arguments.body_size > MaxJobSize(session)) {
    session.NoteTooBig();
    return session.SkipBody(std::uint64_t{arguments.body_size} + 2, kJobTooBig);
  }
  if (arguments.tail) return session.Reply(kBadFormat);
  session.engine().CountAsProducer(session);
  return session.AwaitBody(arguments);
}

Next ReplyPut(Session& session, const Added& added) {
  if (!added.ok()) {
    session.NoteRefused(added.code);
    return session.Reply(ErrorReply(added.code));
  }
  Output& out = session.out();
  out.HoldUntil(added.lsn);
  WriteNumber(out, "INSERTED", added.id);
  return Next::kGoOn;
}

Next Use(Session& session, const Arguments& arguments) {
  const Code code = session.engine().Use(session, arguments.tube);
  if (code != Code::kOk) return session.Reply(ErrorReply(code));
  return WriteName(session.out(), "USING", arguments.tube);
}

}  // namespace gearstalk::beanstalk
