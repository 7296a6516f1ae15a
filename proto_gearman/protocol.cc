#include "proto_gearman/protocol.h"

#include "proto_gearman/commands.h"
#include "proto_gearman/session.h"
#include "proto_gearman/text_line.h"

namespace gearstalk::gearman {

Protocol::Protocol(const Options& options, Engine& engine, const ConnectionList& connections)
    : context_{.options = options,
               .handles = HandleFormat(options.server_name),
               .engine = engine,
               .connections = connections,
               .counts = counts_} {}

Claim Protocol::Sniff(std::string_view bytes) const {
  return bytes.front() == '\0' ? Claim::kYes : ClaimOfWord(bytes);
}

Claim Protocol::SniffUnknown(std::string_view bytes) const {
  const std::size_t end = bytes.substr(0, kMaxLine).find('\n');
  if (end == std::string_view::npos) return bytes.size() < kMaxLine ? Claim::kMaybe : Claim::kNo;
  return bytes.substr(0, end).ends_with('\r') ? Claim::kNo : Claim::kOneMessage;
}

std::unique_ptr<gearstalk::Session> Protocol::NewSession(Wire& wire) {
  return std::make_unique<Session>(context_, wire);
}

void Protocol::VisitCounts(const CountVisitor& visit) const {
  for (std::size_t type = 0; type < kPacketTypes; ++type) {
    const Command& command = CommandOf(static_cast<PacketType>(type));
    if (command.handler != nullptr) visit(command.name, counts_.packets[type]);
  }
  for (std::size_t row = 0; row < kAdminWords; ++row) visit(AdminWord(row), counts_.lines[row]);
}

}  // namespace gearstalk::gearman
