#pragma once

#include <cstddef>

namespace gearstalk {

// Memory set aside for when the system gives no more (a limit of the process, no overcommitment):
// with it the broker continues, refuses producers, and lets consumers make room.

// Once, at start. From then on the first allocation that fails gives the reserve up and is tried
// again; the next that fails ends the process. A body that gets no memory (TryBlockAllocate) is
// refused and takes none of the reserve.
void KeepMemoryReserve(std::size_t bytes);
// Whether it was given up. Any thread.
bool MemoryReserveUsed();
// Tries to set it aside again.
void RefillMemoryReserve();

}  // namespace gearstalk
