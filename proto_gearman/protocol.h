#pragma once

#include <memory>
#include <string_view>

#include "broker/server/protocol.h"
#include "proto_gearman/context.h"

namespace gearstalk::gearman {

// The Gearman protocol: binary packets and gearmand's admin lines.
class GearmanProtocol final : public Protocol {
 public:
  GearmanProtocol(Options options, Engine& engine, const ConnectionList& connections);

  std::string_view name() const override { return "gearman"; }
  Claim Sniff(std::string_view bytes) const override;
  Claim SniffUnknown(std::string_view bytes) const override;
  std::unique_ptr<Session> NewSession(Wire& wire) override;
  void VisitCounts(const CountVisitor& visit) const override;

 private:
  Counts counts_;
  const Context context_;
};

}  // namespace gearstalk::gearman
