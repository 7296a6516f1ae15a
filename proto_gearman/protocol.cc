#include "proto_gearman/protocol.h"

#include "proto_gearman/commands.h"
#include "proto_gearman/session.h"
#include "proto_gearman/text_admin.h"
#include "proto_gearman/text_line.h"

namespace gearstalk::gearman {

GearmanProtocol::GearmanProtocol(const Options& options, Engine& engine,
                                 const ConnectionList& connections)
    : context_{.options = options,
               .handles = HandleFormat(options.server_name),
               .engine = engine,
               .connections = connections,
               .counts = counts_} {}

Claim GearmanProtocol::Sniff(std::string_view bytes) const {
  return bytes.front() == '\0' ? Claim::kYes : ClaimOfWord(bytes);
}

Claim GearmanProtocol::SniffUnknown(std::string_view bytes) const {
  const std::size_t end = bytes.substr(0, kMaxLine).find('\n');
  if (end == std::string_view::npos) return bytes.size() < kMaxLine ? Claim::kMaybe : Claim::kNo;
  return bytes.substr(0, end).ends_with('\r') ? Claim::kNo : Claim::kOneMessage;
}

std::unique_ptr<Session> GearmanProtocol::NewSession(Wire& wire) {
  return std::make_unique<GearmanSession>(context_, wire);
}

void GearmanProtocol::VisitCounts(const CountVisitor& visit) const {
  for (std::size_t type = 0; type < kPacketTypes; ++type) {
    const Command& command = CommandOf(static_cast<PacketType>(type));
    if (command.handler != nullptr) visit(command.name, counts_.packets[type]);
  }
  for (std::size_t row = 0; row < kAdminWords; ++row) visit(AdminWord(row), counts_.lines[row]);
}

}  // namespace gearstalk::gearman
