#include "broker/app/engine_work.h"

#include <malloc.h>

#include <algorithm>

#include "broker/engine/mapped_blocks.h"
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

Time EngineWork::Fresh() const { return BootTime(); }

void EngineWork::EndRound(Time now) {
  if (stopping_) journal_.Tick(now);
  journal_.Flush(now);
  GiveMemoryBack(now);
}

bool EngineWork::AfterRound(Time now) {
  const bool unmapped = UnmapSome();
  return (idle_ != nullptr && idle_(now)) || unmapped;
}

// The slab returns the pages of jobs and tubes itself, but for a few; malloc keeps what indexes of
// them needed. Trims when usage falls to a quarter of its peak, and again a second later.
void EngineWork::GiveMemoryBack(Time now) {
  if (trim_again_ <= now) {
    Trim();
    trim_again_ = kNever;
  }
  const std::size_t used =
      JobMemory() + engine_.Stats().tubes * kTubeBytes + Output::Memory() + beside_;
  peak_ = std::max(peak_, used);
  if (peak_ < kPeak || used > peak_ / 4) return;
  Trim();
  trim_again_ = now + kSecond;
  peak_ = used;
}

}  // namespace gearstalk
