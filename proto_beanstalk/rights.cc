// The commands of connections with limited rights.

#include <string_view>

#include "proto_beanstalk/reply.h"
#include "proto_beanstalk/session.h"

namespace gearstalk::beanstalk {

namespace {

// The holder of a job may use its tube of answers and put there, whatever its rights are.
bool MayAnswer(const Command& command, std::string_view tube) {
  return (command.rights & right::kProduce) != 0 && TakesAnswers(tube);
}

}  // namespace

bool Session::Permitted(const Command& command, const Arguments& arguments) {
  const Access& access = *peer_.access;
  switch (command.about) {
    case About::kNothing:
      break;
    case About::kBroker:
      return access.AllowsAll(command.rights);
    case About::kSomeTube:
      return access.AllowsSome(command.rights);
    case About::kUsed:
      return MayAnswer(command, used()->name()) || access.Allows(command.rights, used()->name());
    case About::kTube:
      return MayAnswer(command, arguments.tube) || access.Allows(command.rights, arguments.tube);
    case About::kWatchedTube:
      LeaveForbidden();
      return access.Allows(command.rights, arguments.tube);
    case About::kWatched:
      LeaveForbidden();
      return command.rights == right::kNone || !watched().empty();
    case About::kJob: {
      const Job* const job = engine().Find(arguments.id);
      if (job == nullptr || job->holder() == this) break;
      return access.Allows(command.rights, job->tube().name());
    }
  }
  return true;
}

std::string_view Session::TubeConcerned(const Command& command, const Arguments& arguments) {
  switch (command.about) {
    case About::kTube:
    case About::kWatchedTube:
      return arguments.tube;
    case About::kUsed:
      return used()->name();
    case About::kJob: {
      const Job* const job = engine().Find(arguments.id);
      return job == nullptr ? std::string_view() : job->tube().name();
    }
    default:
      return {};
  }
}

// The protocol has no error for missing rights. Every client takes this one for an error of the
// command, and can go on using the connection.
Next Session::Refuse(const Command& command, const Arguments& arguments) {
  wire_.OnRefused(Refusal::kRights,
                  {.command = command.name(), .tube = TubeConcerned(command, arguments)});
  if (!command.action.empty()) {
    NoteAct({.action = command.action,
             .tube = TubeConcerned(command, arguments),
             .job = arguments.id,
             .result = "forbidden"});
  }
  if (command.verb != Verb::kPut) return Reply(kUnknownCommand);
  if (arguments.tail) return Reply(kBadFormat);
  return SkipBody(std::uint64_t{arguments.body_size} + 2, kUnknownCommand);
}

}  // namespace gearstalk::beanstalk
