#pragma once

#include <memory>
#include <string_view>

#include "broker/server/protocol.h"
#include "proto_gearman/context.h"

namespace gearstalk::gearman {

// The Gearman protocol: binary packets and gearmand's admin lines.
class Protocol final : public gearstalk::Protocol {
 public:
  Protocol(const Options& options, Engine& engine, const ConnectionList& connections);

  std::string_view name() const override { return "gearman"; }
  Claim Sniff(std::string_view bytes) const override;
  Claim SniffUnknown(std::string_view bytes) const override;
  std::unique_ptr<gearstalk::Session> NewSession(Wire& wire) override;
  void VisitCounts(const CountVisitor& visit) const override;

  void set_max_workload(std::uint32_t bytes) { context_.options.max_workload = bytes; }
  void set_time_zone(const std::string& name) { context_.options.time_zone = name; }
  // For clients that connect from now on.
  void set_exceptions(bool to_all) { context_.options.exceptions = to_all; }

 private:
  Counts counts_;
  Context context_;
};

}  // namespace gearstalk::gearman
