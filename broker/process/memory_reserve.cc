#include "broker/process/memory_reserve.h"

#include <sys/mman.h>

#include <atomic>
#include <new>

namespace gearstalk {
namespace {

std::size_t reserve_size = 0;
std::atomic<void*> reserve = nullptr;

void* Map() {
  void* const at =
      mmap(nullptr, reserve_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return at == MAP_FAILED ? nullptr : at;
}

void GiveUp() {
  void* const held = reserve.exchange(nullptr);
  if (held == nullptr) throw std::bad_alloc();
  munmap(held, reserve_size);
}

}  // namespace

void KeepMemoryReserve(std::size_t bytes) {
  reserve_size = bytes;
  reserve = Map();
  std::set_new_handler(GiveUp);
}

bool MemoryReserveUsed() { return reserve_size > 0 && reserve == nullptr; }

void RefillMemoryReserve() {
  void* const again = Map();
  if (again != nullptr) reserve = again;
}

}  // namespace gearstalk
