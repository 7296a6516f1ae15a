#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "tests/bench/load/endpoint.h"
#include "tests/bench/load/loop.h"
#include "tests/bench/load/tls_client.h"

namespace gearstalk::bench {

// One connection to the server. What is appended to output() leaves at the end of the round.
class Connection {
 public:
  Connection(Loop& loop, const Endpoint& endpoint);
  virtual ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

 protected:
  // Handles the complete replies at the front of `input`; returns how many bytes they were.
  virtual size_t OnInput(std::string_view input) = 0;

  // Where to append commands.
  std::string& output();

  // Closes and connects anew, within OnInput only when it then claims all of its input.
  void Reconnect();

  const Loop& loop() const { return loop_; }

 private:
  friend class Loop;

  void Open();
  ssize_t Read(char* data, size_t size);
  ssize_t Write(const char* data, size_t size);
  void Receive(char* scratch);
  void Flush();

  Loop& loop_;
  const Endpoint& endpoint_;
  int fd_ = -1;
  std::unique_ptr<TlsClient> tls_;  // with TLS
  std::string unread_;
  std::string unsent_;
  size_t sent_ = 0;
  bool in_flush_list_ = false;
  bool watching_for_space_ = false;
};

}  // namespace gearstalk::bench
