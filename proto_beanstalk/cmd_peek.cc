#include "proto_beanstalk/commands.h"
#include "proto_beanstalk/reply.h"
#include "proto_beanstalk/session.h"

namespace gearstalk::beanstalk {
namespace {

Next WriteFound(Session& session, const Job* job) {
  if (job == nullptr) return session.Reply(kNotFound);
  return session.Reply(const_cast<Job&>(*job), {.word = "FOUND"});
}

}  // namespace

Next Peek(Session& session, const Arguments& arguments) {
  return WriteFound(session, session.engine().Find(arguments.id));
}

Next PeekReady(Session& session, const Arguments& /*arguments*/) {
  return WriteFound(session, session.used()->NextReady());
}

Next PeekDelayed(Session& session, const Arguments& /*arguments*/) {
  return WriteFound(session, session.used()->NextDelayed());
}

Next PeekBuried(Session& session, const Arguments& /*arguments*/) {
  return WriteFound(session, session.used()->NextBuried());
}

}  // namespace gearstalk::beanstalk
