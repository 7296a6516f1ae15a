#include "proto_beanstalk/protocol.h"

#include <fmt/format.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <random>
#include <utility>

#include "proto_beanstalk/session.h"

namespace gearstalk::beanstalk {
namespace {

// A line of an unknown word may be an admin line of Gearman, which has this bound.
constexpr std::size_t kLongestUnknown = 8192;

}  // namespace

Identity Identity::OfThisProcess(std::string version, Time started) {
  utsname system{};
  uname(&system);
  std::random_device random;
  return {.version = std::move(version),
          .instance = fmt::format("{:08x}{:08x}", random(), random()),
          .hostname = system.nodename,
          .os = system.version,
          .platform = system.machine,
          .pid = getpid(),
          .started = started};
}

Protocol::Protocol(const Options& options, Identity identity, Engine& engine,
                   const ConnectionList& connections)
    : options_(options),
      identity_(std::move(identity)),
      engine_(engine),
      connections_(connections) {}

Claim Protocol::Sniff(std::string_view bytes) const {
  if (FindCommand(bytes) != nullptr) return Claim::kYes;
  return MayBecomeCommand(bytes) ? Claim::kMaybe : Claim::kNo;
}

Claim Protocol::SniffUnknown(std::string_view bytes) const {
  const std::size_t end = bytes.substr(0, kLongestUnknown).find('\n');
  // Only the end of the line shows which protocol it belongs to. A line without an end up to this
  // bound gets beanstalk's error.
  if (end == std::string_view::npos) {
    return bytes.size() < kLongestUnknown ? Claim::kMaybe : Claim::kYes;
  }
  return end > 0 && bytes[end - 1] == '\r' ? Claim::kOneMessage : Claim::kNo;
}

std::unique_ptr<gearstalk::Session> Protocol::NewSession(Wire& wire) {
  return std::make_unique<Session>(*this, wire);
}

void Protocol::VisitCounts(const CountVisitor& visit) const {
  for (const Command& command : Commands()) visit(command.name(), count(command.verb));
}

}  // namespace gearstalk::beanstalk
