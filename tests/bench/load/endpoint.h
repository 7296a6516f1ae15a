#pragma once

#include <netinet/in.h>

#include <string>

namespace gearstalk::bench {

// Where the server listens.
class Endpoint {
 public:
  // `text` is HOST:PORT with an IPv4 address.
  explicit Endpoint(const std::string& text);

  // A connected, non-blocking socket without Nagle's delay. To a server on the loopback network the
  // local address goes round 127.0.0.0/8, so that closed connections do not use up the ports.
  int Connect() const;

 private:
  bool IsLoopback() const;

  sockaddr_in address_{};
};

}  // namespace gearstalk::bench
