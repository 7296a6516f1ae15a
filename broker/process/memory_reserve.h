#pragma once

#include <cstddef>

namespace gearstalk {

// Memory set aside for the day when there is no more (a limit of the process, no overcommitment):
// what the broker needs to go on, refuse producers, and let consumers make room.

// Once, at start. From then on the first allocation that fails gives the reserve up and is tried
// again; the next that fails ends the process. Bodies of jobs are refused before
// (TryBlockAllocate).
void KeepMemoryReserve(std::size_t bytes);
// Whether it was given up. Any thread.
bool MemoryReserveUsed();
// Tries to have it again.
void RefillMemoryReserve();

}  // namespace gearstalk
