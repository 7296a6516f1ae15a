#include "broker/engine/pauses.h"

namespace gearstalk {

void Pauses::Note(Tube& tube) {
  const Time until = tube.paused() ? tube.settings.pause_until : kNever;
  if (until == tube.pause_noted) return;
  if (tube.pause_noted != kNever) ends_.erase({tube.pause_noted, tube.id()});
  if (until != kNever) ends_.emplace(until, tube.id());
  tube.pause_noted = until;
  next_ = ends_.empty() ? kNever : ends_.begin()->first;
}

void Pauses::End(Tube& tube) {
  tube.settings.pause_until = tube.settings.pause_s = 0;
  Note(tube);
  ready_.Resume(tube);
}

std::vector<Tube*> Pauses::TakeDue(Time now) {
  std::vector<Tube*> tubes;
  while (next_ <= now) {
    Tube& tube = *tubes_.FindById(ends_.begin()->second);
    End(tube);
    tubes.push_back(&tube);
  }
  return tubes;
}

}  // namespace gearstalk
