#pragma once

#include <sys/types.h>

#include <cstddef>
#include <memory>

using SSL = struct ssl_st;

namespace gearstalk::bench {

// TLS over a connected socket that does not block. It trusts every server.
class TlsClient {
 public:
  // Returns when the handshake is done.
  explicit TlsClient(int fd);

  // As recv(2) and send(2).
  ssize_t Receive(char* data, size_t size);
  ssize_t Send(const char* data, size_t size);

 private:
  struct Free {
    void operator()(SSL* ssl) const;
  };
  ssize_t Result(int returned);

  std::unique_ptr<SSL, Free> ssl_;
};

}  // namespace gearstalk::bench
