#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "broker/base/descriptor.h"
#include "broker/base/status.h"
#include "broker/link/frame.h"
#include "broker/link/ring.h"

namespace gearstalk::link {

// What a link is made of, for both ends. Whoever made it closes it, but for the socket that an end
// was given.
struct LinkParts {
  std::array<int, 2> sockets{-1, -1};  // of the broker, of the router; non-blocking
  int memory = -1;                     // of the rings
};
Result<LinkParts> MakeLink();

// One end of a link: takes frames, gathers those to send, and gives them over at once. Never
// blocks. Frames are in the rings; the socket carries bells alone, a byte each, and only for an end
// that waits for one. The end of the socket is the end of the link.
class LinkEnd {
 public:
  enum class Side : std::uint8_t { kBroker, kRouter };
  // Takes the socket, and closes it at the end. The memory may be closed.
  static Result<LinkEnd> Open(int socket, int memory, Side side);
  LinkEnd(LinkEnd&& other) noexcept = default;
  LinkEnd& operator=(LinkEnd&&) = delete;

  // Becomes readable with a bell.
  int fd() const { return socket_; }
  // Looks for what has come. False: the other end is gone and its last frame was taken, or it has
  // broken the ring.
  bool Receive();
  // The next frame that has come; its payload is valid until Release, that of a frame larger than
  // a ring until the next one.
  Decoded Next();
  // Gives back the room of the frames that Next returned.
  void Release();
  // Whether there may be something to take that no bell tells of.
  bool more() const { return more_; }
  bool gone() const { return gone_; }

  void Add(std::uint32_t stream, Kind kind, std::string_view payload);
  // The same for what may wait until there is more to send.
  void AddLater(std::uint32_t stream, Kind kind, std::string_view payload);
  // Appends to the DATA of the same stream where that was the last frame.
  void AddData(std::uint32_t stream, std::string_view bytes);
  // Where `size` bytes of DATA may be written, to be given to AddWritten before anything else is
  // added. Empty: there is no room for them.
  std::span<char> Space(std::size_t size);
  // DATA: `size` bytes of that space.
  void AddWritten(std::uint32_t stream, std::size_t size);
  // Gives over what there is room for. While much of it is not taken, a bell tells when more is.
  // False: the other end is gone, or has broken the ring.
  bool Send();
  // Bytes that the other end has not taken.
  std::size_t waiting() const;
  // Whether all that was added since Send may wait.
  bool may_wait() const { return !urgent_; }

  std::uint64_t received_bytes() const { return taken_; }
  std::uint64_t sent_bytes() const { return out_.state().added.load(std::memory_order_relaxed); }

 private:
  static constexpr std::size_t kReadSize = 256 * 1024;  // taken at once
  static constexpr std::uint64_t kNone = UINT64_MAX;

  LinkEnd(Descriptor socket, Ring out, Ring in)
      : socket_(std::move(socket)), out_(std::move(out)), in_(std::move(in)) {}

  bool HearBell();
  void RingBell();
  void Append(std::string_view bytes);
  char* Place(std::uint64_t position);
  void MoveHeld();
  std::size_t Room() const;
  Decoded Look();

  Descriptor socket_;
  Ring out_, in_;

  std::uint64_t come_ = 0;      // of in_: what the other end has added, when it was looked
  std::uint64_t taken_ = 0;     // of in_
  std::uint64_t received_ = 0;  // of in_: taken_ at the last Receive
  std::string large_;           // what has come of a frame larger than a ring
  std::size_t large_size_ = 0;  // of that frame
  bool more_ = true;
  bool starved_ = false;  // all that has come was taken, but for the beginning of a frame
  bool gone_ = false;

  std::uint64_t added_ = 0;          // of out_, with what the other end is not to see yet
  std::string held_;                 // what comes behind it, for want of room
  std::uint64_t last_data_ = kNone;  // where the last frame begins, if it is DATA
  bool urgent_ = false;              // something that was added is not of AddLater
};

}  // namespace gearstalk::link
