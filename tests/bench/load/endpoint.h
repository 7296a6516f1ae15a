#pragma once

#include <netinet/in.h>

#include <string>

namespace gearstalk::bench {

// Where the server listens.
class Endpoint {
 public:
  // `text` is HOST:PORT with an IPv4 address.
  Endpoint(const std::string& text, bool tls);

  // A connected, non-blocking socket without Nagle's delay. To a server on the loopback network the
  // local address goes round 127.0.0.0/8, so that closed connections do not use up the ports.
  int Connect() const;
  // Whether producers and consumers speak TLS there.
  bool tls() const { return tls_; }

 private:
  bool IsLoopback() const;

  sockaddr_in address_{};
  const bool tls_;
};

}  // namespace gearstalk::bench
