#pragma once

#include "broker/journal/journal.h"

namespace gearstalk {

// Ignores all events: for tools and tests, which serve no clients.
class NoEvents : public JournalEvents {
 public:
  virtual ~NoEvents() = default;
  void OnFollowing(const FollowProgress& /*progress*/) override {}
  void OnActive() override {}
  void OnServing() override {}
  void OnSuspended(bool /*isolated*/) override {}
  void OnResumed() override {}
  void OnOver(Status /*why*/, int /*exit_code*/) override {}
};

}  // namespace gearstalk
