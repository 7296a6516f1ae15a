#pragma once

#include <cstddef>

namespace gearstalk {

// Memory from the system. Where the address space has too many holes (vm.max_map_count), unmapping
// gives back the memory but not its address. nullptr: there is none.
void* MapMemory(std::size_t size);
void UnmapMemory(void* at, std::size_t size);

// Blocks too large for slabs: each is a mapping of its own. New pages cost more than most of what
// is done with them, so of the last blocks that were freed some megabytes are kept as they are, for
// the next of the same size. Sizes are multiples of 4096 bytes; few different ones should be used.
// Loop's thread only.
// nullptr: there is no memory.
void* MapBlock(std::size_t size);
// The pages of a large block go back to the system piece by piece, by UnmapSome: the kernel needs
// some 10 ms for those of 64 MB. At most 256 MB wait for that, since UnmapSome is not called during
// a replay; larger amounts go back at once.
void UnmapBlock(void* block, std::size_t size);
// One piece; false: nothing is left to go back.
bool UnmapSome();
// The same bytes in a larger mapping, perhaps elsewhere; none is copied. nullptr: there is no
// memory, and the block stays.
void* RemapBlock(void* block, std::size_t size, std::size_t larger);

bool HaveSpareBlock(std::size_t size);
// Gives all that is kept back to the system.
void DropSpareBlocks();

}  // namespace gearstalk
