#include "admin/transfer/protocol.h"

#include "admin/transfer/session.h"
#include "broker/transfer/messages.h"

namespace gearstalk::transfer {

Claim TransferProtocol::Sniff(std::string_view bytes) const {
  if (bytes.starts_with(kGreeting)) return Claim::kYes;
  return kGreeting.starts_with(bytes) ? Claim::kMaybe : Claim::kNo;
}

std::unique_ptr<Session> TransferProtocol::NewSession(Wire& wire) {
  return std::make_unique<TransferSession>(*this, wire);
}

}  // namespace gearstalk::transfer
