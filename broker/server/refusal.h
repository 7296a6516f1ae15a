#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

#include "broker/base/status.h"

namespace gearstalk {

// Why the server refused or closed a connection, and why a session refused a command. (Why the
// engine refuses a job is a Code, counted there.)
enum class Refusal : std::uint8_t {
  kConnections,            // as many as allowed
  kConnectionsPerAddress,  // as many as allowed of one address
  kDescriptors,            // none left: accepting is paused
  kHandshakeTimeout,       // the first word or the TLS handshake took too long
  kIdleTimeout,
  kOutput,  // too much waits for a peer that does not read
  kTls,     // a failed handshake, or plain text where TLS is required
  kHttp,    // it began with a word of HTTP
  // The connection stays.
  kRights,   // a command that is not allowed
  kJobSize,  // the body of a job is larger than allowed
};
inline constexpr std::size_t kRefusals = static_cast<std::size_t>(Refusal::kJobSize) + 1;

// Their names in metrics, in the order of Refusal.
inline constexpr std::array<std::string_view, kRefusals> kRefusalNames = {
    "connections",  "connections_per_address",
    "descriptors",  "handshake_timeout",
    "idle_timeout", "output",
    "tls",          "http",
    "rights",       "job_size"};

// Why the engine refuses jobs, with the names in logs and metrics.
inline constexpr std::pair<Code, std::string_view> kJobRefusals[] = {
    {Code::kDraining, "draining"},    {Code::kQueueFull, "maxqueue"},
    {Code::kGroupFull, "group_jobs"}, {Code::kGroupMissing, "group_missing"},
    {Code::kOutOfMemory, "memory"},   {Code::kTooManyTubes, "tubes"},
    {Code::kJournal, "journal"},      {Code::kDiskLow, "disk"},
};

// What was refused, as far as it is known. Texts are valid during the call.
struct Refused {
  std::string_view command{};
  std::string_view tube{};
  std::string_view error{};
};

class RefusalCounts {
 public:
  void Count(Refusal refusal) { ++counts_[static_cast<std::size_t>(refusal)]; }
  std::uint64_t of(Refusal refusal) const { return counts_[static_cast<std::size_t>(refusal)]; }

 private:
  std::array<std::uint64_t, kRefusals> counts_{};
};

}  // namespace gearstalk
