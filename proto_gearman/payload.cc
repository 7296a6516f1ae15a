#include "proto_gearman/payload.h"

#include <algorithm>
#include <cstring>

#include "broker/engine/slab.h"

namespace gearstalk::gearman {

std::size_t Payload::Add(std::string_view bytes) {
  const std::size_t size = std::min(bytes.size(), size_ - arrived_);
  if (size == 0 || !MakeRoom(arrived_ + size)) return 0;
  std::memcpy(bytes_.get() + arrived_, bytes.data(), size);
  arrived_ += size;
  return size;
}

std::span<char> Payload::Space() {
  if (complete() || !MakeRoom(arrived_ + std::min(size_ - arrived_, kLeastRead))) return {};
  return {bytes_.get() + arrived_, capacity_ - arrived_};
}

void Payload::Free::operator()(char* bytes) const {
  CountJobMemory(-static_cast<std::ptrdiff_t>(size));
  BlockFree(bytes, size);
}

bool Payload::MakeRoom(std::size_t size) {
  if (failed_ || size <= capacity_) return !failed_;
  const std::size_t room = RoomToArrive(capacity_, size, size_);
  void* const block =
      capacity_ == 0 ? TryBlockAllocate(room) : TryBlockGrow(bytes_.get(), capacity_, room);
  failed_ = block == nullptr;
  if (failed_) {
    bytes_.reset();
    return false;
  }
  CountJobMemory(static_cast<std::ptrdiff_t>(room - capacity_));
  capacity_ = room;
  bytes_.release();
  bytes_ = {static_cast<char*>(block), Free{room}};
  return true;
}

}  // namespace gearstalk::gearman
