#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "broker/base/status.h"

namespace gearstalk {

// Where to listen: "127.0.0.1:11300", "[::1]:4730", "localhost:0", "unix:/run/gearstalkd.sock",
// each optionally followed by ",protocols=auto|beanstalk|gearman".
struct ListenAddress {
  std::string host;  // empty for a Unix socket
  std::string port;
  std::string path;       // of a Unix socket
  std::string protocols;  // "auto" or the name of one

  static Result<ListenAddress> Parse(std::string_view text);
};

// A listening socket, non-blocking; closed (and its Unix socket file removed) with its owner.
class ListenSocket {
 public:
  // Binds and listens. Errors name the address.
  static Result<std::unique_ptr<ListenSocket>> Open(const ListenAddress& address);
  ~ListenSocket();
  ListenSocket(const ListenSocket&) = delete;
  ListenSocket& operator=(const ListenSocket&) = delete;

  int fd() const { return fd_; }
  // What it really listens on: the port that was taken for 0.
  const std::string& name() const { return name_; }

 private:
  ListenSocket(int fd, std::string path) : fd_(fd), path_(std::move(path)) {}

  int fd_;
  std::string path_;
  std::string name_;
};

}  // namespace gearstalk
