#pragma once

#include <sys/types.h>
#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "broker/server/refusal.h"

namespace gearstalk {

// Who is told what happens to a transport. Implemented by the side that reads and writes it.
class TransportEvents {
 public:
  // There is something to read, or the end. Called again in the next round while that is so.
  virtual void OnReadable() = 0;
  // Reading::kWatchClose: the peer has hung up. Called once.
  virtual void OnHangUp() = 0;
  // After WatchWriting: more can be written. Called again in the next round while that is so.
  virtual void OnWritable() = 0;
  // Its TLS handshake is done; `certificate` is the common name of the peer's verified certificate,
  // or empty. Before anything that the peer says is read.
  virtual void OnSecured(std::string certificate) = 0;

 protected:
  ~TransportEvents() = default;
};

// What a connection reads from and writes to: a socket, with TLS or without, or a stream of a
// router's link. It knows no protocol, and never blocks.
class Transport {
 public:
  enum class Reading : std::uint8_t { kOn, kOff, kWatchClose };

  struct Received {
    enum class Then : std::uint8_t {
      kOpen,
      kEnd,     // the peer will send no more
      kFailed,  // see failure()
      kBroken,  // reset, or otherwise over
    };
    std::size_t body = 0;     // bytes in the body
    std::size_t rest = 0;     // bytes in the buffer
    std::size_t network = 0;  // bytes that arrived for them, with TLS
    bool answers = false;     // the transport has something to send of its own
    Then then = Then::kOpen;
  };
  struct Failure {
    std::optional<Refusal> refusal;  // none: it failed after the handshake
    std::string error{};
  };

  virtual ~Transport() = default;

  // Reads once: fills `body` first, then `buffer`, about `most` bytes of it. The buffer has at
  // least kMaxRecord bytes more than that.
  static constexpr std::size_t kMaxRecord = 16 * 1024;
  virtual Received Read(std::span<char> body, std::span<char> buffer, std::size_t most) = 0;
  virtual Failure failure() const { return {}; }
  // Writes as writev(2) does.
  virtual ssize_t Write(iovec* pieces, int count) = 0;
  enum class Flushed : std::uint8_t { kAll, kSome, kBroken };
  // Sends what Write took and the transport still has. `last`: nothing more will be written.
  virtual Flushed Flush(bool /*last*/) { return Flushed::kAll; }
  // Bytes that Write took and the peer's side has not.
  virtual std::size_t pending() const { return 0; }
  // The peer will see that nothing is missing, as far as that can be told at once.
  virtual void End() {}

  virtual void SetReading(Reading reading) = 0;
  Reading reading() const { return reading_; }
  // While muted, OnReadable is not called. A change by SetReading ends it. Unmuting tells of a
  // hang-up again.
  virtual void Mute(bool muted) = 0;
  virtual void WatchWriting(bool watched) = 0;

  // Whether the peer still owes a part of its handshake.
  virtual bool handshaking() const { return false; }
  // Whether the next Read may take a step of the handshake, which costs much CPU.
  virtual bool shakes() const { return false; }
  // Whether what was read before waits for such a step.
  virtual bool waits_to_shake() const { return false; }

 protected:
  Reading reading_ = Reading::kOff;
};

}  // namespace gearstalk
