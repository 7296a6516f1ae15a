#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "broker/server/tls.h"

struct ssl_st;

namespace gearstalk {

// One connection's TLS, without its socket: what was received goes in by Feed and comes out by
// Read; what is to be sent goes in by Write and comes out as `pending`. Never waits for anything.
class TlsStream {
 public:
  // The bytes that a connection begins with that speaks TLS.
  static constexpr char kFirstByte = 0x16;
  // Bytes that Write takes at most at once.
  static constexpr std::size_t kMaxWrite = 64 * 1024;

  // How many bytes the first record of `received` has, as far as that can be said; never more than
  // a record may have.
  static std::size_t SizeOfRecord(std::string_view received);

  explicit TlsStream(std::shared_ptr<const TlsContext> context);
  ~TlsStream();
  TlsStream(const TlsStream&) = delete;
  TlsStream& operator=(const TlsStream&) = delete;

  // Takes all of what was received, and goes on with the handshake. Call Read until it returns 0
  // before the next Feed.
  void Feed(std::string_view received);
  // What the peer has said: how much of it was written to `space`, 0 if there is no more.
  std::size_t Read(std::span<char> space);
  // How much of `bytes` was taken: all of it up to kMaxWrite once the handshake is done.
  std::size_t Write(std::string_view bytes);
  // Says that nothing more will be written.
  void Close();

  // What has to be sent; Sent says how much was.
  std::string_view pending() const { return std::string_view(out_).substr(sent_); }
  void Sent(std::size_t size);

  bool open() const { return state_ == State::kOpen; }
  bool failed() const { return state_ == State::kFailed; }
  // The peer will say nothing more.
  bool ended() const { return ended_; }
  // Why it failed.
  const std::string& error() const { return error_; }
  // The common name of the client's certificate, which was verified; empty without one.
  std::string ClientName() const;

 private:
  enum class State : unsigned char { kHandshake, kOpen, kFailed };
  struct Pipe;  // how OpenSSL reads and writes

  void Shake();
  void Fail();

  std::shared_ptr<const TlsContext> context_;
  ssl_st* ssl_;
  std::string_view in_;  // received, not yet taken by OpenSSL
  std::string out_;
  std::size_t sent_ = 0;
  State state_ = State::kHandshake;
  bool ended_ = false;
  bool closed_ = false;
  std::string error_;
};

}  // namespace gearstalk
