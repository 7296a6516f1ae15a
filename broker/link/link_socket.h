#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "broker/link/frame.h"

namespace gearstalk::link {

// One end of a link: reads frames, gathers those to send, and sends them with one write. Closes the
// socket at the end. Never blocks.
class LinkSocket {
 public:
  explicit LinkSocket(int fd);
  ~LinkSocket();
  LinkSocket(const LinkSocket&) = delete;
  LinkSocket& operator=(const LinkSocket&) = delete;

  int fd() const { return fd_; }
  // Reads once, when Next has nothing left. False: the other end is gone.
  bool Receive();
  // The next frame that was read; its payload is valid until the next Receive.
  Decoded Next();

  void Add(std::uint32_t stream, Kind kind, std::string_view payload);
  // The same for what may wait until there is more to send.
  void AddLater(std::uint32_t stream, Kind kind, std::string_view payload);
  // Appends to the DATA of the same stream where that was the last frame.
  void AddData(std::uint32_t stream, std::string_view bytes);
  // Sends what the socket takes. False: the other end is gone.
  bool Send();
  // Bytes that wait to be sent.
  std::size_t waiting() const { return out_.size() - sent_; }
  // Whether all of them may wait.
  bool may_wait() const { return !urgent_; }

  std::uint64_t received_bytes() const { return received_bytes_; }
  std::uint64_t sent_bytes() const { return sent_bytes_; }

 private:
  static constexpr std::size_t kReadSize = 256 * 1024;
  static constexpr std::size_t kNone = SIZE_MAX;

  const int fd_;
  std::vector<char> in_;
  std::size_t begin_ = 0, end_ = 0;  // of what was read and not taken
  std::size_t needed_ = kHead;       // bytes of the next frame, as far as is known
  std::string out_;
  std::size_t sent_ = 0;           // of out_
  std::size_t last_data_ = kNone;  // where the last frame begins, if it is DATA
  bool urgent_ = false;            // something of out_ is not of AddLater
  std::uint64_t received_bytes_ = 0, sent_bytes_ = 0;
};

}  // namespace gearstalk::link
