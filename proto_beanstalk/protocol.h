#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "broker/base/clock.h"
#include "broker/engine/engine.h"
#include "broker/server/protocol.h"
#include "proto_beanstalk/commands.h"

namespace gearstalk::beanstalk {

struct Options {
  std::uint32_t max_job_size = 65535;  // bytes, without the CRLF
};

// Facts about the process and its machine, for `stats`.
struct Identity {
  std::string version;
  std::string instance;  // 16 hexadecimal digits, new with every start
  std::string hostname;
  std::string os;
  std::string platform;
  std::int64_t pid = 0;
  Time started = 0;

  // Of this process, asked from the system.
  static Identity OfThisProcess(std::string version, Time started);
};

// The beanstalk protocol, and what all its sessions share. Outlives them.
class Protocol final : public gearstalk::Protocol {
 public:
  Protocol(const Options& options, Identity identity, Engine& engine,
           const ConnectionList& connections);

  std::string_view name() const override { return "beanstalk"; }
  Claim Sniff(std::string_view bytes) const override;
  Claim SniffUnknown(std::string_view bytes) const override;
  std::unique_ptr<gearstalk::Session> NewSession(Wire& wire) override;
  void VisitCounts(const CountVisitor& visit) const override;

  Engine& engine() { return engine_; }
  const Identity& identity() const { return identity_; }
  const ConnectionList& connections() const { return connections_; }

  std::uint32_t max_job_size() const { return options_.max_job_size; }
  void set_max_job_size(std::uint32_t bytes) { options_.max_job_size = bytes; }

  // Well-formed commands since the start.
  std::uint64_t count(Verb verb) const { return counts_[static_cast<std::size_t>(verb)]; }
  void Count(Verb verb) { ++counts_[static_cast<std::size_t>(verb)]; }

 private:
  Options options_;
  Identity identity_;
  Engine& engine_;
  const ConnectionList& connections_;
  std::array<std::uint64_t, kVerbs> counts_{};
};

}  // namespace gearstalk::beanstalk
