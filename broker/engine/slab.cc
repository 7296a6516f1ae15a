#include "broker/engine/slab.h"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>
#include <vector>

#include "broker/base/check.h"
#include "broker/base/threads.h"

namespace gearstalk {
namespace {

// Sanitizers see through malloc, not through slabs.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kUseSlabs = false;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
constexpr bool kUseSlabs = false;
#else
constexpr bool kUseSlabs = true;
#endif
#else
constexpr bool kUseSlabs = true;
#endif

constexpr std::size_t kPageSize =
    256 * 1024;                         // also its alignment: a block's page is found by masking
constexpr std::size_t kFinest = 1024;   // up to here a size class every 8 bytes
constexpr std::size_t kSparePages = 4;  // empty ones, kept for whatever size wants one next

struct FreeBlock {
  FreeBlock* next;
};

struct Page {
  Page* prev;
  Page* next;
  FreeBlock* free;     // blocks that were given back
  std::uint32_t used;  // blocks in use
  std::uint32_t top;   // offset of the first byte that was never used
};

// Pages with room, the one to take from first.
struct SizeClass {
  Page* open = nullptr;
};

// What a block of some size becomes.
struct Fit {
  std::size_t size_class;
  std::size_t size;
};

constexpr Fit FitOf(std::size_t size) {
  if (size <= kFinest) {
    const std::size_t eights = (size + 7) / 8;
    return {eights, eights * 8};
  }
  // A step is the sixteenth of a doubling, for what is mapped by itself the eighth.
  const std::size_t parts = size <= kSlabLimit ? 16 : 8;
  const std::size_t shift = std::bit_width(size - 1) - std::bit_width(parts);
  const std::size_t steps = ((size - 1) >> shift) + 1;
  const std::size_t doublings = shift + std::bit_width(parts) - std::bit_width(kFinest);
  return {kFinest / 8 + doublings * parts + steps - parts, steps << shift};
}

std::array<SizeClass, FitOf(kSlabLimit).size_class + 1> classes;
std::array<Page*, kSparePages> spare_pages;
std::size_t spare_count = 0;

// Bytes from the last multiple of kPageSize to here.
std::size_t OffsetInPage(const void* at) {
  return reinterpret_cast<std::uintptr_t>(at) & (kPageSize - 1);
}

Page* PageOf(void* block) {
  return reinterpret_cast<Page*>(static_cast<char*>(block) - OffsetInPage(block));
}

// Memory from the system. Where the address space has too many holes (vm.max_map_count), unmapping
// gives back the memory but not its address. nullptr: there is none.
void* MapMemory(std::size_t size) {
  void* const at = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return at == MAP_FAILED ? nullptr : at;
}

void UnmapMemory(void* at, std::size_t size) {
  if (munmap(at, size) != 0) madvise(at, size, MADV_DONTNEED);
}

void* MapPage() {
  // Maps twice the size and cuts off what is not aligned.
  void* const mapped = MapMemory(2 * kPageSize);
  if (mapped == nullptr) return nullptr;
  const std::size_t before = (kPageSize - OffsetInPage(mapped)) % kPageSize;
  char* const aligned = static_cast<char*>(mapped) + before;
  if (before > 0) UnmapMemory(mapped, before);
  UnmapMemory(aligned + kPageSize, kPageSize - before);
  return aligned;
}

Page* NewPage() {
  void* const place = spare_count > 0 ? spare_pages[--spare_count] : MapPage();
  if (place == nullptr) return nullptr;
  return new (place) Page{nullptr, nullptr, nullptr, 0, sizeof(Page)};
}

void Drop(Page* page) {
  if (spare_count < kSparePages) {
    spare_pages[spare_count++] = page;
  } else {
    UnmapMemory(page, kPageSize);
  }
}

bool Full(const Page& page, std::size_t size) {
  return page.free == nullptr && page.top + size > kPageSize;
}

void Open(SizeClass& size_class, Page* page) {
  page->prev = nullptr;
  page->next = size_class.open;
  if (page->next != nullptr) page->next->prev = page;
  size_class.open = page;
}

void Close(SizeClass& size_class, Page* page) {
  (page->prev != nullptr ? page->prev->next : size_class.open) = page->next;
  if (page->next != nullptr) page->next->prev = page->prev;
}

// --- Mapped blocks

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

// The same bytes in a larger mapping, perhaps elsewhere; none is copied. nullptr: there is no
// memory, and the block stays.
void* RemapBlock(void* block, std::size_t size, std::size_t larger) {
  void* const moved = mremap(block, size, larger, MREMAP_MAYMOVE);
  if (moved != MAP_FAILED) return moved;
  void* const copy = MapBlock(larger);
  if (copy == nullptr) return nullptr;
  std::memcpy(copy, block, size);
  UnmapMemory(block, size);
  return copy;
}

}  // namespace

void* SlabAllocate(std::size_t wanted) {
  GS_DCHECK(OnLoop());
  GS_DCHECK(wanted <= kSlabLimit);
  const auto [index, size] = FitOf(wanted);
  SizeClass& size_class = classes[index];
  if (size_class.open == nullptr) {
    Page* const page = NewPage();
    if (page == nullptr) return nullptr;
    Open(size_class, page);
  }
  Page* page = size_class.open;
  void* block = page->free;
  if (block != nullptr) {
    page->free = page->free->next;
  } else {
    block = reinterpret_cast<char*>(page) + page->top;
    page->top += static_cast<std::uint32_t>(size);
  }
  ++page->used;
  if (Full(*page, size)) Close(size_class, page);
  return block;
}

void SlabFree(void* block, std::size_t wanted) {
  GS_DCHECK(OnLoop());
  const auto [index, size] = FitOf(wanted);
  SizeClass& size_class = classes[index];
  Page* page = PageOf(block);
  if (Full(*page, size)) Open(size_class, page);
  auto* freed = static_cast<FreeBlock*>(block);
  freed->next = page->free;
  page->free = freed;
  if (--page->used > 0) return;
  Close(size_class, page);
  Drop(page);
}

void* TryBlockAllocate(std::size_t size) {
  if (!kUseSlabs) return std::malloc(size);
  return size <= kSlabLimit ? SlabAllocate(size) : MapBlock(FitOf(size).size);
}

void* BlockAllocate(std::size_t size) {
  while (true) {
    if (void* const block = TryBlockAllocate(size)) return block;
    const std::new_handler handler = std::get_new_handler();
    if (handler == nullptr) std::abort();
    handler();
  }
}

void BlockFree(void* block, std::size_t size) {
  if (!kUseSlabs) return std::free(block);
  return size <= kSlabLimit ? SlabFree(block, size) : UnmapBlock(block, FitOf(size).size);
}

void* TryBlockGrow(void* block, std::size_t size, std::size_t larger) {
  if (kUseSlabs && size > kSlabLimit) {
    return RemapBlock(block, FitOf(size).size, FitOf(larger).size);
  }
  void* const grown = TryBlockAllocate(larger);
  if (grown == nullptr) return nullptr;
  std::memcpy(grown, block, size);
  BlockFree(block, size);
  return grown;
}

std::size_t RoomToArrive(std::size_t size, std::size_t needed, std::size_t announced) {
  if (announced <= kArrivesWhole || FindSpare(FitOf(announced).size) != spares.end())
    return announced;
  return std::min(announced, std::max({kArrivesWhole, 2 * size, needed}));
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

void DropSpareBlocks() {
  for (const Spare& spare : spares) UnmapMemory(spare.block, spare.size);
  spares.clear();
  spare_bytes = 0;
}

}  // namespace gearstalk
