#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "broker/server/tls.h"

struct ssl_st;

namespace gearstalk {

// The TLS of one connection, without its socket. Feed takes received bytes and Read decrypts them;
// Write encrypts, and `pending` is what to send. Never blocks.
class TlsStream {
 public:
  // The first byte of a connection that speaks TLS.
  static constexpr char kFirstByte = 0x16;
  // The most bytes that one Write takes.
  static constexpr std::size_t kMaxWrite = 64 * 1024;
  // The most requests for a new key in one Feed. Each costs some microseconds of cryptography, and
  // clients ask for one after millions of records.
  static constexpr int kMaxRekeys = 32;

  // The size of the first record of `received`, as far as it is known; never more than a record may
  // have.
  static std::size_t SizeOfRecord(std::string_view received);

  explicit TlsStream(std::shared_ptr<const TlsContext> context);
  ~TlsStream();
  TlsStream(const TlsStream&) = delete;
  TlsStream& operator=(const TlsStream&) = delete;

  // Takes received bytes, all of them, and continues the handshake. Call Read until it returns 0
  // before the next Feed.
  void Feed(std::string_view received);
  // Writes decrypted bytes to `space` and returns how many; 0: there are no more.
  std::size_t Read(std::span<char> space);
  // Returns how much of `bytes` it took: once the handshake is done, up to kMaxWrite.
  std::size_t Write(std::string_view bytes);
  // Tells the peer that nothing more will be written.
  void Close();

  // The bytes to send; Sent removes those that were sent.
  std::string_view pending() const { return std::string_view(out_).substr(sent_); }
  void Sent(std::size_t size);

  bool open() const { return state_ == State::kOpen; }
  bool failed() const { return state_ == State::kFailed; }
  // Whether the peer has ended the stream.
  bool ended() const { return ended_; }
  // Why it failed.
  const std::string& error() const { return error_; }
  // The common name of the client's certificate, which was verified; empty without one.
  std::string ClientName() const;

 private:
  enum class State : unsigned char { kHandshake, kOpen, kFailed };
  struct Pipe;  // how OpenSSL reads and writes

  void Shake();
  void Fail(std::string why);

  std::shared_ptr<const TlsContext> context_;
  ssl_st* ssl_;
  std::string_view in_;  // received, not yet taken by OpenSSL
  std::string out_;
  std::size_t sent_ = 0;
  int rekeys_ = 0;  // requested in this Feed
  State state_ = State::kHandshake;
  bool ended_ = false;
  bool closed_ = false;
  std::string error_;
};

}  // namespace gearstalk
