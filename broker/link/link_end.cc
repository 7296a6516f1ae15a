#include "broker/link/link_end.h"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "broker/base/stored_number.h"

namespace gearstalk::link {

Result<LinkParts> MakeLink() {
  LinkParts parts;
  parts.memory = GS_TRY(Ring::MakeMemory());
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, parts.sockets.data()) ==
      0) {
    return parts;
  }
  const int error = errno;
  close(parts.memory);
  return Status{Code::kIo, std::string("socketpair: ") + std::strerror(error)};
}

Result<LinkEnd> LinkEnd::Open(int socket, int memory, Side side) {
  Descriptor taken(socket);
  Ring out = GS_TRY(Ring::Map(memory, side == Side::kBroker ? 0 : 1));
  Ring in = GS_TRY(Ring::Map(memory, side == Side::kBroker ? 1 : 0));
  return LinkEnd(std::move(taken), std::move(out), std::move(in));
}

// False: the other end is gone.
bool LinkEnd::HearBell() {
  std::array<char, 64> bells;
  const ssize_t got = recv(socket_, bells.data(), bells.size(), MSG_DONTWAIT);
  return got > 0 || (got < 0 && (errno == EAGAIN || errno == EINTR));
}

// When the socket is full, the other end has bells to hear.
void LinkEnd::RingBell() { send(socket_, "", 1, MSG_NOSIGNAL | MSG_DONTWAIT); }

bool LinkEnd::Receive() {
  // The end is looked at first: what the other end added before it is still taken.
  gone_ = gone_ || !HearBell();
  const std::uint64_t now = in_.state().added.load();
  starved_ = starved_ && now == come_;
  come_ = now;
  received_ = taken_;
  more_ = false;
  return come_ - taken_ <= Ring::kSize && !(gone_ && starved_);
}

Decoded LinkEnd::Next() {
  Ring::State& state = in_.state();
  while (true) {
    if (taken_ - received_ >= kReadSize) {
      more_ = true;
      return {};
    }
    const Decoded next = Look();
    if (next.state != Decoded::State::kMore) return next;
    state.wants_bytes = true;
    const std::uint64_t now = state.added.load();
    starved_ = now == come_;
    if (starved_) return next;
    state.wants_bytes = false;
    if (now - taken_ > Ring::kSize) return {.state = Decoded::State::kMalformed};
    come_ = now;
  }
}

Decoded LinkEnd::Look() {
  if (large_.size() == large_size_) {
    large_.clear();
    const Decoded next = Decode({in_.At(taken_), come_ - taken_});
    if (next.state == Decoded::State::kFrame) taken_ += next.size;
    if (next.state != Decoded::State::kMore || next.size <= Ring::kSize) return next;
    large_size_ = next.size;
  }
  const std::size_t part = std::min(large_size_ - large_.size(), come_ - taken_);
  large_.append(in_.At(taken_), part);
  taken_ += part;
  return Decode(large_);
}

void LinkEnd::Release() {
  Ring::State& state = in_.state();
  if (taken_ == state.taken.load(std::memory_order_relaxed)) return;
  state.taken = taken_;
  if (state.wants_room.load() && state.wants_room.exchange(false)) RingBell();
}

std::size_t LinkEnd::waiting() const { return added_ - out_.state().taken.load() + held_.size(); }

std::size_t LinkEnd::Room() const {
  const std::uint64_t in_ring = added_ - out_.state().taken.load();
  return in_ring <= Ring::kSize ? Ring::kSize - in_ring : 0;
}

char* LinkEnd::Place(std::uint64_t position) {
  return position < added_ ? out_.At(position) : held_.data() + (position - added_);
}

void LinkEnd::Append(std::string_view bytes) {
  if (bytes.empty()) return;
  if (!held_.empty() || bytes.size() > Room()) {
    held_.append(bytes);
    return;
  }
  std::memcpy(out_.At(added_), bytes.data(), bytes.size());
  added_ += bytes.size();
}

void LinkEnd::Add(std::uint32_t stream, Kind kind, std::string_view payload) {
  urgent_ = true;
  AddLater(stream, kind, payload);
}

void LinkEnd::AddLater(std::uint32_t stream, Kind kind, std::string_view payload) {
  last_data_ = kNone;
  std::array<char, kHead> head;
  StoreHead(head.data(), stream, kind, payload.size());
  Append({head.data(), head.size()});
  Append(payload);
}

void LinkEnd::AddData(std::uint32_t stream, std::string_view bytes) {
  urgent_ = true;
  while (!bytes.empty()) {
    const std::uint64_t end = added_ + held_.size();
    std::size_t before = kMaxData;  // in the last frame
    if (last_data_ != kNone && Load<std::uint32_t>({Place(last_data_), kHead}, 0) == stream) {
      before = end - last_data_ - kHead;
    }
    if (before == kMaxData) {
      last_data_ = end;
      before = 0;
      Append(std::string_view("\0\0\0\0\0\0\0\0", kHead));  // written below
    }
    const std::size_t part = std::min(bytes.size(), kMaxData - before);
    Append(bytes.substr(0, part));
    StoreHead(Place(last_data_), stream, Kind::kData, before + part);
    bytes.remove_prefix(part);
  }
}

std::span<char> LinkEnd::Space(std::size_t size) {
  if (!held_.empty() || Room() < kHead + size) return {};
  return {out_.At(added_ + kHead), size};
}

void LinkEnd::AddWritten(std::uint32_t stream, std::size_t size) {
  urgent_ = true;
  last_data_ = added_;
  StoreHead(out_.At(added_), stream, Kind::kData, size);
  added_ += kHead + size;
}

void LinkEnd::MoveHeld() {
  if (held_.empty()) return;
  const std::size_t part = std::min(held_.size(), Room());
  std::memcpy(out_.At(added_), held_.data(), part);
  added_ += part;
  part == held_.size() ? std::string().swap(held_) : void(held_.erase(0, part));
}

bool LinkEnd::Send() {
  Ring::State& state = out_.state();
  last_data_ = kNone;
  urgent_ = false;
  MoveHeld();
  if (waiting() >= kBusyLink) {
    state.wants_room = true;
    MoveHeld();  // what the other end took before it could see the flag
  }
  if (added_ != state.added.load(std::memory_order_relaxed)) {
    state.added = added_;
    if (state.wants_bytes.load() && state.wants_bytes.exchange(false)) RingBell();
  }
  return !gone_ && added_ - state.taken.load() <= Ring::kSize;
}

}  // namespace gearstalk::link
