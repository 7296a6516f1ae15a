#pragma once

#include <cstddef>

namespace gearstalk {

// Memory for what there are millions of, up to kSlabLimit bytes each: pages of equal blocks, a size
// class every 8 bytes up to 1 KB and eight for each doubling above, no header a block. A page that
// gets empty goes back to the system, so that a backlog leaves as it came, bit by bit. Loop's
// thread only.
inline constexpr std::size_t kSlabLimit = 72 * 1024;

void* SlabAllocate(std::size_t size);
void SlabFree(void* block, std::size_t size);

// Memory of any size: from slabs if it is small and no sanitizer is to see it, else from malloc.
void* BlockAllocate(std::size_t size);
void BlockFree(void* block, std::size_t size);

// Bytes that jobs of all sizes occupy now, for the memory metrics.
std::size_t JobMemory();
void CountJobMemory(std::ptrdiff_t change);

}  // namespace gearstalk
