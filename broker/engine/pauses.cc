#include "broker/engine/pauses.h"

#include <vector>

#include "broker/engine/engine.h"

namespace gearstalk {

void Pauses::Note(Tube& tube) {
  const Time until = tube.paused() ? tube.settings_.pause_until : kNever;
  if (until == tube.pause_noted_) return;
  if (tube.pause_noted_ != kNever) ends_.erase({tube.pause_noted_, tube.id()});
  if (until != kNever) ends_.emplace(until, tube.id());
  tube.pause_noted_ = until;
  next_ = ends_.empty() ? kNever : ends_.begin()->first;
}

void Pauses::End(Tube& tube) {
  tube.settings_.pause_until = tube.settings_.pause_s = 0;
  Note(tube);
  engine_.dispatch_.ready().Resume(tube);
}

void Pauses::EndAllDue(Time now) {
  std::vector<Tube*> tubes;
  while (next_ <= now) {
    Tube& tube = *engine_.tubes_.FindById(ends_.begin()->second);
    End(tube);
    tubes.push_back(&tube);
  }
  engine_.dispatch_.ServeTogether(now, std::move(tubes));
}

}  // namespace gearstalk
