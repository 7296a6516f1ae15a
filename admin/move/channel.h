#pragma once

#include <unistd.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "admin/move/address.h"
#include "broker/base/status.h"

namespace gearstalk::ctl {

// A server that does not answer for so long counts as dead.
inline constexpr int kSilenceMs = 30'000;

// A stream of bytes to and from a server, or a journal that this process has opened itself.
class Channel {
 public:
  virtual ~Channel() = default;
  virtual Status Write(std::string_view bytes) = 0;
  // Appends what there is to `bytes`, at least one byte; waits for it at most `timeout_ms` (-1: for
  // ever). kNotFound: nothing came in time.
  virtual Status Read(std::string& bytes, int timeout_ms = -1) = 0;
  // Waits before the other side is asked again.
  virtual void Sleep(unsigned milliseconds) { ::usleep(milliseconds * 1000); }
  // The name of the other side, for messages.
  virtual std::string Name() const { return "the journal"; }
  // Readable when Read has something; -1: there is no descriptor.
  virtual int fd() const { return -1; }
  // Ends it. Tells whether everything is durable.
  virtual Status Close() { return {}; }
};

// One end of a channel: what it has to send, and what has come for it.
class Client {
 public:
  explicit Client(std::unique_ptr<Channel> channel) : channel_(std::move(channel)) {}

  std::string Name() const { return channel_->Name(); }
  int fd() const { return channel_->fd(); }
  // Whether Flush has something to send. What comes while it is sent does not make fd() readable.
  bool sends() const { return !out_.empty(); }
  Status Flush();

 protected:
  // Flushes, drops what was used of `in_`, and reads more; see Channel::Read.
  Status More(int timeout_ms);
  // The same, but that nothing comes in time is an error.
  Status Await(int silence_ms = kSilenceMs);

  std::unique_ptr<Channel> channel_;
  std::string out_, in_;
  std::size_t used_ = 0;  // of in_
};

// A connection, with TLS where the target wants it.
Result<std::unique_ptr<Channel>> Connect(const Target& target);
// What is done with a directory. Only kReadJobs has the bodies in memory, where they can be read.
enum class Access : std::uint8_t { kChange, kReadJobs, kReadMarks };
// The journal of a directory. kChange makes it if it is missing; to read writes nothing there.
// kInUse: a broker runs there.
Result<std::unique_ptr<Channel>> OpenDirectory(const std::string& directory, Access access);

}  // namespace gearstalk::ctl
