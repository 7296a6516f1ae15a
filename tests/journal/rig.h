#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>

#include "broker/journal/journal.h"
#include "broker/journal/wal/wal_journal.h"
#include "tests/journal/faulty_file_system.h"
#include "tests/journal/model.h"

namespace gearstalk {

// A journal on a faulty disk with a model before it. Without a thread, so that the order of calls
// to the disk is the same on every run: a Flush writes and syncs before it returns.
class Rig {
 public:
  static constexpr char kDirectory[] = "/data";

  Rig() {
    options.directory = kDirectory;
    options.file_system = &disk;
    options.own_thread = false;
    options.segment_size = 2048;
  }

  // Opens and replays into a new model.
  Status Start() {
    journal.reset();
    auto opened = WalJournal::Open(options);
    if (!opened.ok()) return opened.status();
    journal = std::move(opened.value());
    model = std::make_unique<Model>();
    if (Status status = journal->Start(*model, events); !status.ok()) return status;
    journal->OnNotify();
    return {};
  }

  // The machine stops, and starts again.
  Status Restart(FaultyFileSystem::Loss loss, std::uint32_t seed = 0) {
    journal.reset();
    disk.Restart(loss, seed);
    return Start();
  }

  void Flush() {
    journal->Flush(0);
    journal->OnNotify();
  }

  // Goes on until there is nothing to carry forward and nothing to prepare.
  void Settle() {
    for (int i = 0; i < 200; ++i) Flush();
  }

  FaultyFileSystem disk;
  WalOptions options;
  NoEvents events;
  std::unique_ptr<Model> model = std::make_unique<Model>();
  std::unique_ptr<WalJournal> journal;
};

// Compares jobs and settings; ids may have been given out beyond what is compared with.
inline bool SameJobs(const Model::State& a, const Model::State& b) {
  return a.jobs == b.jobs && a.tubes == b.tubes;
}

// The machine stops, and all that was not synced is lost; what was in the model has to be there.
inline ::testing::AssertionResult SurvivesRestart(Rig& rig) {
  const Model::State before = rig.model->state();
  const Status started = rig.Restart(FaultyFileSystem::Loss::kAll);
  if (!started.ok()) return ::testing::AssertionFailure() << started.message();
  if (SameJobs(rig.model->state(), before)) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << "not the same as before";
}

}  // namespace gearstalk
