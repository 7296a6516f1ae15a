#include "broker/session/watch_rights.h"

#include <string>
#include <vector>

namespace gearstalk {

void WatchRights::Apply(const std::shared_ptr<const Access>& access, Engine& engine, Time now,
                        Consumer& consumer) {
  if (applied_ == access) return;
  applied_ = access;
  std::vector<std::string> forbidden;
  for (const auto& watch : consumer.watched()) {
    const std::string& tube = watch->tube.name();
    if (access != nullptr && !access->Allows(right::kConsume, tube)) forbidden.push_back(tube);
  }
  for (const std::string& tube : forbidden) {
    engine.Ignore(now, consumer, tube, /*may_be_last=*/true);
  }
}

}  // namespace gearstalk
