#pragma once

#include <cstddef>

namespace gearstalk {

// Memory for what there are millions of, up to kSlabLimit bytes each: pages of equal blocks, a size
// class every 8 bytes up to 1 KB and sixteen for each doubling above, no header a block. A page
// that gets empty goes back to the system, so that a backlog leaves as it came, bit by bit. Loop's
// thread only.
inline constexpr std::size_t kSlabLimit = 72 * 1024;

// nullptr: there is no memory.
void* SlabAllocate(std::size_t size);
void SlabFree(void* block, std::size_t size);

// Memory of any size: from slabs if it is small, else a mapping of its own; malloc's where a
// sanitizer is to see it. Where there is none, and no new_handler finds some, the process
// ends.
void* BlockAllocate(std::size_t size);
void BlockFree(void* block, std::size_t size);
// nullptr: there is no memory.
void* TryBlockAllocate(std::size_t size);
// The same bytes in a larger block, perhaps elsewhere. nullptr: there is no memory, and the block
// stays.
void* TryBlockGrow(void* block, std::size_t size, std::size_t larger);

// How large to make the block of something that is still arriving, of which `size` bytes have a
// place and `needed` must have one now. What is announced reserves next to nothing: up to
// kArrivesWhole bytes get their place at once (pages that stay untouched cost nothing), what is
// larger doubles with what has come, unless memory of its size lies ready.
inline constexpr std::size_t kArrivesWhole = 256 * 1024;
std::size_t RoomToArrive(std::size_t size, std::size_t needed, std::size_t announced);

// For the four functions below.
inline constinit std::size_t job_memory = 0;
inline constinit std::size_t table_memory = 0;

// Bytes that jobs of all sizes occupy now, for the memory metrics.
inline std::size_t JobMemory() { return job_memory; }
inline void CountJobMemory(std::ptrdiff_t change) {
  job_memory += static_cast<std::size_t>(change);
}
// The same for tubes, watches and those who wait for jobs.
inline std::size_t TableMemory() { return table_memory; }
inline void CountTableMemory(std::ptrdiff_t change) {
  table_memory += static_cast<std::size_t>(change);
}

// A base of classes whose objects lie each in a block of its own. `kCount` counts the block, and
// `kAround` more bytes for what an object needs elsewhere.
template <void (*kCount)(std::ptrdiff_t), std::size_t kAround = 0>
struct InBlocks {
  static void* operator new(std::size_t size) {
    void* const block = BlockAllocate(size);
    kCount(static_cast<std::ptrdiff_t>(size + kAround));
    return block;
  }
  static void operator delete(void* block, std::size_t size) {
    kCount(-static_cast<std::ptrdiff_t>(size + kAround));
    BlockFree(block, size);
  }
};
using InJobMemory = InBlocks<CountJobMemory>;

// Blocks too large for slabs, each a mapping of its own. New pages cost more than most of what
// is done with them, so of the last blocks that were freed some megabytes are kept as they are, for
// the next of the same size. Sizes are multiples of 4096 bytes; few different ones should be used.
// Loop's thread only. nullptr: there is no memory.
void* MapBlock(std::size_t size);
// The pages of a large block go back to the system piece by piece, by UnmapSome: the kernel needs
// some 10 ms for those of 64 MB. At most 256 MB wait for that, since UnmapSome is not called during
// a replay; larger amounts go back at once.
void UnmapBlock(void* block, std::size_t size);
// One piece; false: nothing is left to go back.
bool UnmapSome();
// Gives all that is kept back to the system.
void DropSpareBlocks();

}  // namespace gearstalk
