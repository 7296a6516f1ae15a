#include "broker/link/link_socket.h"

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "broker/base/stored_number.h"

namespace gearstalk::link {

LinkSocket::LinkSocket(int fd) : fd_(fd), in_(kReadSize + kHead + kMaxData) {}

LinkSocket::~LinkSocket() { close(fd_); }

bool LinkSocket::Receive() {
  if (begin_ == end_) begin_ = end_ = 0;
  if (begin_ > 0 && (in_.size() - end_ < kReadSize || begin_ + needed_ > in_.size())) {
    std::memmove(in_.data(), in_.data() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
  }
  if (needed_ > in_.size()) in_.resize(needed_);
  const ssize_t got = recv(fd_, in_.data() + end_, in_.size() - end_, MSG_DONTWAIT);
  if (got < 0) return errno == EAGAIN || errno == EINTR;
  received_bytes_ += static_cast<std::size_t>(got);
  end_ += static_cast<std::size_t>(got);
  return got > 0;
}

Decoded LinkSocket::Next() {
  const Decoded next = Decode({in_.data() + begin_, end_ - begin_});
  needed_ = kHead;
  if (next.state == Decoded::State::kFrame) begin_ += next.size;
  if (next.state == Decoded::State::kMore) needed_ = next.size;
  return next;
}

void LinkSocket::Add(std::uint32_t stream, Kind kind, std::string_view payload) {
  urgent_ = true;
  AddLater(stream, kind, payload);
}

void LinkSocket::AddLater(std::uint32_t stream, Kind kind, std::string_view payload) {
  last_data_ = kNone;
  std::array<char, kHead> head;
  StoreHead(head.data(), stream, kind, payload.size());
  out_.append(head.data(), head.size()).append(payload);
}

void LinkSocket::AddData(std::uint32_t stream, std::string_view bytes) {
  urgent_ = true;
  while (!bytes.empty()) {
    std::size_t held = kMaxData;  // in the last frame
    if (last_data_ != kNone && Load<std::uint32_t>(out_, last_data_) == stream) {
      held = out_.size() - last_data_ - kHead;
    }
    if (held == kMaxData) {
      last_data_ = out_.size();
      held = 0;
      out_.append(kHead, '\0');
    }
    const std::size_t part = std::min(bytes.size(), kMaxData - held);
    out_.append(bytes.substr(0, part));
    StoreHead(out_.data() + last_data_, stream, Kind::kData, held + part);
    bytes.remove_prefix(part);
  }
}

bool LinkSocket::Send() {
  last_data_ = kNone;
  while (waiting() > 0) {
    const ssize_t sent = send(fd_, out_.data() + sent_, waiting(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && errno != EAGAIN) return false;
    if (sent < 0) break;
    sent_ += static_cast<std::size_t>(sent);
    sent_bytes_ += static_cast<std::size_t>(sent);
  }
  if (sent_ == out_.size()) {
    out_.clear();
    sent_ = 0;
    urgent_ = false;
    if (out_.capacity() > 4 * kBusyLink) out_.shrink_to_fit();
  } else if (sent_ > out_.size() / 2) {
    out_.erase(0, sent_);
    sent_ = 0;
  }
  return true;
}

}  // namespace gearstalk::link
