#include "proto_gearman/payload.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "broker/engine/slab.h"

namespace gearstalk::gearman {

std::size_t Payload::Add(std::string_view bytes) {
  const std::size_t size = std::min(bytes.size(), size_ - arrived_);
  if (size == 0) return 0;
  MakeRoom(arrived_ + size);
  std::memcpy(bytes_.get() + arrived_, bytes.data(), size);
  arrived_ += size;
  return size;
}

std::span<char> Payload::Space() {
  if (complete()) return {};
  MakeRoom(arrived_ + std::min(size_ - arrived_, kLeastRead));
  return {bytes_.get() + arrived_, capacity_ - arrived_};
}

void Payload::Free::operator()(char* bytes) const {
  CountJobMemory(-static_cast<std::ptrdiff_t>(size));
  delete[] bytes;
}

void Payload::MakeRoom(std::size_t size) {
  if (size <= capacity_) return;
  std::size_t room = std::max(kFirst, 2 * capacity_);
  while (room < size) room *= 2;
  capacity_ = std::min(room, size_);
  std::unique_ptr<char[], Free> bytes(new char[capacity_], Free{capacity_});
  CountJobMemory(static_cast<std::ptrdiff_t>(capacity_));
  if (arrived_ > 0) std::memcpy(bytes.get(), bytes_.get(), arrived_);
  bytes_ = std::move(bytes);
}

}  // namespace gearstalk::gearman
