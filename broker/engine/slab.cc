#include "broker/engine/slab.h"

#include <sys/mman.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <new>

#include "broker/base/check.h"

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
    256 * 1024;  // also its alignment: a block's page is found by masking
constexpr std::size_t kKeepBytes =
    32 * 1024;  // an empty page that used no more is kept for the next job

struct Free {
  Free* next;
};

struct Page {
  Page* prev;
  Page* next;
  Free* free;          // blocks that were given back
  std::uint32_t used;  // blocks in use
  std::uint32_t top;   // offset of the first byte that was never used
};

// Pages with room, the one to take from first.
struct SizeClass {
  Page* open = nullptr;
};

std::array<SizeClass, kSlabLimit / 8 + 1> classes;
std::size_t job_memory = 0;

// Bytes from the last multiple of kPageSize to here.
std::size_t OffsetInPage(const void* at) {
  return reinterpret_cast<std::uintptr_t>(at) & (kPageSize - 1);
}

Page* PageOf(void* block) {
  return reinterpret_cast<Page*>(static_cast<char*>(block) - OffsetInPage(block));
}

Page* MapPage() {
  // Maps twice the size and cuts off what is not aligned.
  void* mapped =
      mmap(nullptr, 2 * kPageSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) throw std::bad_alloc();
  const std::size_t before = (kPageSize - OffsetInPage(mapped)) % kPageSize;
  char* const aligned = static_cast<char*>(mapped) + before;
  if (before > 0) munmap(mapped, before);
  munmap(aligned + kPageSize, kPageSize - before);
  auto* page = reinterpret_cast<Page*>(aligned);
  *page = Page{nullptr, nullptr, nullptr, 0, sizeof(Page)};
  return page;
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

std::size_t RoundUp(std::size_t size) { return (size + 7) & ~std::size_t{7}; }

}  // namespace

void* SlabAllocate(std::size_t size) {
  size = RoundUp(size);
  GS_DCHECK(size <= kSlabLimit);
  SizeClass& size_class = classes[size / 8];
  if (size_class.open == nullptr) Open(size_class, MapPage());
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

void SlabFree(void* block, std::size_t size) {
  size = RoundUp(size);
  SizeClass& size_class = classes[size / 8];
  Page* page = PageOf(block);
  if (Full(*page, size)) Open(size_class, page);
  auto* freed = static_cast<Free*>(block);
  freed->next = page->free;
  page->free = freed;
  if (--page->used > 0) return;
  if (page->top <= kKeepBytes) {
    page->free = nullptr;
    page->top = sizeof(Page);
    return;
  }
  Close(size_class, page);
  munmap(page, kPageSize);
}

void* BlockAllocate(std::size_t size) {
  if (kUseSlabs && size <= kSlabLimit) return SlabAllocate(size);
  void* block = std::malloc(size);
  if (block == nullptr) throw std::bad_alloc();
  return block;
}

void BlockFree(void* block, std::size_t size) {
  if (kUseSlabs && size <= kSlabLimit) {
    SlabFree(block, size);
  } else {
    std::free(block);
  }
}

std::size_t JobMemory() { return job_memory; }

void CountJobMemory(std::ptrdiff_t change) { job_memory += static_cast<std::size_t>(change); }

}  // namespace gearstalk
