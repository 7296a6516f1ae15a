#pragma once

#include <memory>
#include <utility>

#include "broker/base/clock.h"
#include "broker/engine/engine.h"
#include "broker/journal/memory_journal.h"

namespace gearstalk {

// What is behind sockets and protocols: an engine, its journal, and a clock that only tests move.
struct SocketlessBroker {
  explicit SocketlessBroker(EngineOptions options = {},
                            std::unique_ptr<Journal> kept_in = std::make_unique<MemoryJournal>())
      : journal(std::move(kept_in)), engine(options, *journal) {}

  // Moves the clock and does what is due.
  void Pass(Time by) {
    clock.Advance(by);
    while (engine.Tick(clock.Now()) <= clock.Now()) {
    }
  }

  FakeClock clock;
  const std::unique_ptr<Journal> journal;
  Engine engine;
};

}  // namespace gearstalk
