#include "broker/app/engine_work.h"

#include <malloc.h>

#include <algorithm>

#include "broker/engine/slab.h"

namespace gearstalk {

void EngineWork::EndRound(Time now) {
  journal_.Flush(now);
  GiveMemoryBack();
}

// Most jobs live in slabs, which look after themselves. Large bodies are the allocator's, and that
// keeps what a backlog needed until it is asked.
void EngineWork::GiveMemoryBack() {
  const std::size_t used = JobMemory();
  peak_ = std::max(peak_, used);
  if (peak_ < kPeak || used > peak_ / 4) return;
  malloc_trim(0);
  peak_ = used;
}

}  // namespace gearstalk
