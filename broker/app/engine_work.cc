#include "broker/app/engine_work.h"

#include <malloc.h>

#include "broker/engine/slab.h"
#include "broker/process/memory_reserve.h"

namespace gearstalk {
namespace {

void Trim() {
  DropSpareBlocks();
  malloc_trim(0);
}

}  // namespace

// Bytes that are still in outputs now were not taken in the last round.
void EngineWork::BeginRound() {
  clock_.Refresh();
  if (MemoryReserveUsed()) RefillMemoryReserve();
  if (count_beside_ != nullptr) beside_ = count_beside_();
  engine_.NoteMemory(Output::MemoryInUse() + beside_, MemoryReserveUsed());
}

void EngineWork::EndRound(Time now) {
  if (stopping_) journal_.Tick(now);
  journal_.Flush(now);
  GiveMemoryBack(now);
}

bool EngineWork::AfterRound(Time now) {
  const bool unmapped = UnmapSome();
  return (idle_ != nullptr && idle_(now)) || unmapped;
}

bool EngineWork::Peak::HasPassed(std::size_t used) {
  most_ = std::max(most_, used);
  if (most_ < least_ || used > most_ / 4) return false;
  most_ = used;
  return true;
}

// The slab returns the pages of jobs and tubes itself, but for a few; malloc keeps what indexes of
// them needed. Trims when usage falls to a quarter of its peak, and again a second later. Buffers
// come and go with each sync, so what malloc keeps of them goes back only after a while.
void EngineWork::GiveMemoryBack(Time now) {
  if (trim_again_ <= now) {
    Trim();
    trim_again_ = kNever;
  }
  const std::size_t buffers = Output::Memory() + beside_ + journal_.WaitingBytes();
  const bool passed = buffers_.HasPassed(buffers);
  if (used_.HasPassed(JobMemory() + engine_.Stats().tubes * kTubeBytes + buffers)) {
    Trim();
    trim_again_ = now + kSecond;
  } else if (passed) {
    trim_again_ = std::min(trim_again_, now + kBuffersPause);
  }
}

}  // namespace gearstalk
