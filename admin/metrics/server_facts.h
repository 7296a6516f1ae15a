#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "broker/base/clock.h"

namespace gearstalk {

// A process that holds clients' sockets.
struct RouterFacts {
  int process = 0;  // 0: it waits to be started again
  std::uint64_t streams = 0;
  double cpu_seconds = 0;
  std::uint64_t accepted = 0, handshakes = 0;            // as of its last answer
  std::uint64_t received_bytes = 0, sent_bytes = 0;      // of clients, likewise
  std::uint64_t from_link_bytes = 0, to_link_bytes = 0;  // as the broker sees the link
};

struct CertificateFacts {
  std::string option, subject, serial;
  std::uint64_t end = 0;  // seconds since 1970
};

// Facts, counters and limits of the parts around the engine: what metrics and API say of them.
struct ServerFacts {
  std::string version, commit, server_name;
  std::vector<std::string> listen, admin;  // addresses
  std::string sync;                        // "always", "never", "50ms", "memory"
  Time started = 0;
  std::uint64_t max_job_size = 0;  // bytes
  std::uint64_t received_bytes = 0, sent_bytes = 0;
  std::uint64_t output_stalls = 0;
  std::uint64_t stalled_connections = 0;
  std::uint64_t output_limit = 0;  // bytes
  std::uint64_t most_connections = 0;
  std::uint64_t connections_of_busiest_address = 0;
  std::uint64_t connections_per_address_limit = 0;
  std::uint64_t dropped_log_lines = 0;
  std::vector<CertificateFacts> certificates;                           // of TLS
  std::vector<std::pair<std::string_view, std::uint64_t>> connections;  // by protocol
  std::vector<std::pair<std::string_view, std::uint64_t>> refused;      // by reason
  double cpu_seconds = 0;                                               // of the broker's process
  double loop_cpu_seconds = 0;  // of its loop, which is one thread
  std::vector<RouterFacts> routers;
  std::uint64_t router_restarts = 0;
};

}  // namespace gearstalk
