#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "broker/engine/engine.h"
#include "broker/server/protocol.h"
#include "proto_gearman/job_handle.h"
#include "proto_gearman/packet.h"
#include "proto_gearman/text_admin.h"

namespace gearstalk::gearman {

// The engine's priorities for HIGH, NORMAL and LOW (0 is the most urgent).
struct Priorities {
  std::uint32_t high = 512;
  std::uint32_t normal = 65536;
  std::uint32_t low = 131072;

  constexpr std::uint32_t Of(PacketType submit) const {
    switch (submit) {
      case PacketType::kSubmitJobHigh:
      case PacketType::kSubmitJobHighBg:
        return high;
      case PacketType::kSubmitJobLow:
      case PacketType::kSubmitJobLowBg:
        return low;
      default:
        return normal;
    }
  }
};

struct Options {
  std::string server_name = "localhost";          // in handles
  std::string version;                            // what `version` answers
  std::uint32_t max_workload = 64 * 1024 * 1024;  // bytes, at most 1 GiB
  bool exceptions = false;  // all clients get WORK_EXCEPTION, without OPTION_REQ
  Priorities priorities;
  std::string time_zone = "UTC";  // of SUBMIT_JOB_SCHED; a known one
  // What `verbose` answers: gearmand's word for the log level.
  std::function<std::string()> log_level = [] { return std::string("ERROR"); };
  // Called for `shutdown` from this host, inside a round of the loop, which must end normally.
  // Empty: `shutdown` is refused.
  std::function<void(bool graceful, const Peer& peer)> shutdown;
  std::function<bool(const Peer&)> may_shut_down = [](const Peer& peer) { return peer.local; };
};

// Well-formed requests since the start.
struct Counts {
  std::array<std::uint64_t, kPacketTypes> packets{};
  std::array<std::uint64_t, kAdminWords> lines{};
};

// What all sessions share.
struct Context {
  Options options;
  HandleFormat handles;
  Engine& engine;
  const ConnectionList& connections;
  Counts& counts;
};

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
