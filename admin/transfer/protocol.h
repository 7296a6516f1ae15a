#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <string_view>

#include "broker/engine/engine.h"
#include "broker/server/protocol.h"

namespace gearstalk::transfer {

// The transfer protocol, and what all its sessions share. Outlives them.
class TransferProtocol final : public Protocol {
 public:
  explicit TransferProtocol(Engine& engine) : engine_(engine) {}

  std::string_view name() const override { return "transfer"; }
  Claim Sniff(std::string_view bytes) const override;
  Claim SniffUnknown(std::string_view /*bytes*/) const override { return Claim::kNo; }
  bool NeedsGreeting() const override { return true; }
  std::unique_ptr<Session> NewSession(Wire& wire) override;

  Engine& engine() { return engine_; }
  // What Gearman's classes are as priorities here; all 0: not known.
  struct Classes {
    std::uint32_t high = 0, normal = 0, low = 0;
  };
  void SetClasses(Classes classes) { classes_ = classes; }
  const Classes& classes() const { return classes_; }
  // One connection at a time uses a transfer. False: another does.
  bool TakeTransfer(const std::string& name) { return used_.insert(name).second; }
  void GiveTransfer(const std::string& name) { used_.erase(name); }

 private:
  Engine& engine_;
  Classes classes_{};
  std::set<std::string> used_;
};

}  // namespace gearstalk::transfer
