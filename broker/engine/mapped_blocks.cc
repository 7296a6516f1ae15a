#include "broker/engine/mapped_blocks.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "broker/base/check.h"
#include "broker/base/threads.h"

namespace gearstalk {
namespace {

constexpr std::size_t kMostSpare = 16 << 20;    // bytes, all together
constexpr std::size_t kLargestSpare = 4 << 20;  // bytes

struct Spare {
  void* block;
  std::size_t size;
};

std::vector<Spare> spares;  // oldest first
std::size_t spare_bytes = 0;

constexpr std::size_t kPiece = 2 << 20;           // bytes that go back at once
constexpr std::size_t kMostLeaving = 256U << 20;  // bytes, all together
std::vector<Spare> leaving;                       // go back piece by piece
std::size_t leaving_bytes = 0;

std::vector<Spare>::iterator FindSpare(std::size_t size) {
  return std::find_if(spares.begin(), spares.end(),
                      [=](const Spare& spare) { return spare.size == size; });
}

void* TakeOut(std::vector<Spare>::iterator spare) {
  void* const block = spare->block;
  spare_bytes -= spare->size;
  spares.erase(spare);
  return block;
}

}  // namespace

void* MapMemory(std::size_t size) {
  void* const at = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return at == MAP_FAILED ? nullptr : at;
}

void UnmapMemory(void* at, std::size_t size) {
  if (munmap(at, size) != 0) madvise(at, size, MADV_DONTNEED);
}

void* MapBlock(std::size_t size) {
  GS_DCHECK(OnLoop());
  if (const auto spare = FindSpare(size); spare != spares.end()) return TakeOut(spare);
  void* const block = MapMemory(size);
  if (block != nullptr || (spares.empty() && leaving.empty())) return block;
  DropSpareBlocks();
  while (UnmapSome()) continue;
  return MapMemory(size);
}

void UnmapBlock(void* block, std::size_t size) {
  GS_DCHECK(OnLoop());
  if (size > kLargestSpare) {
    if (size > kMostLeaving - leaving_bytes) return UnmapMemory(block, size);
    leaving.push_back({block, size});
    leaving_bytes += size;
    return;
  }
  spares.push_back({block, size});
  spare_bytes += size;
  while (spare_bytes > kMostSpare) {
    const std::size_t oldest = spares.front().size;
    UnmapMemory(TakeOut(spares.begin()), oldest);
  }
}

bool UnmapSome() {
  if (leaving.empty()) return false;
  Spare& last = leaving.back();
  const std::size_t piece = std::min(last.size, kPiece);
  last.size -= piece;
  leaving_bytes -= piece;
  UnmapMemory(static_cast<char*>(last.block) + last.size, piece);
  if (last.size == 0) leaving.pop_back();
  return true;
}

void* RemapBlock(void* block, std::size_t size, std::size_t larger) {
  void* const moved = mremap(block, size, larger, MREMAP_MAYMOVE);
  if (moved != MAP_FAILED) return moved;
  void* const copy = MapBlock(larger);
  if (copy == nullptr) return nullptr;
  std::memcpy(copy, block, size);
  UnmapMemory(block, size);
  return copy;
}

bool HaveSpareBlock(std::size_t size) { return FindSpare(size) != spares.end(); }

void DropSpareBlocks() {
  for (const Spare& spare : spares) UnmapMemory(spare.block, spare.size);
  spares.clear();
  spare_bytes = 0;
}

}  // namespace gearstalk
