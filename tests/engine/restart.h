#pragma once

#include <gtest/gtest.h>

#include "broker/engine/engine.h"
#include "broker/journal/journal.h"

namespace gearstalk {

// Brings back into `engine` what `journal` holds, as a broker does at its start.
inline void Restart(Journal& journal, Engine& engine, Time now = kNever) {
  class Events final : public NoEvents {
   public:
    Events(Engine& engine, Time now) : engine_(engine), now_(now) {}
    void OnActive() override { engine_.records().BecomeActive(now_); }

   private:
    Engine& engine_;
    const Time now_;
  } events(engine, now);
  const Status status = journal.Start(engine.records(), events);
  ASSERT_TRUE(status.ok()) << status.message();
}

}  // namespace gearstalk
