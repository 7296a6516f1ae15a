#pragma once

#include "broker/journal/journal.h"

namespace gearstalk {

// The journal of a broker without a data directory: keeps nothing, so no reply waits for it.
class MemoryJournal : public Journal {
 public:
  Status Start(LiveState& /*state*/, JournalEvents& events) override {
    events.OnActive();
    events.OnServing();
    return {};
  }
  bool Persistent() const override { return false; }
  Lsn Append(const Record& /*record*/) override { return 0; }
  bool Accepts(Record::Kind /*kind*/) const override { return true; }
  Status Health() const override { return {}; }
  void Flush(Time /*now*/) override {}
  Lsn Durable() const override { return 0; }
  void SetOnDurable(std::function<void(Lsn)> /*on_durable*/) override {}
  std::uint64_t WaitingBytes() const override { return 0; }
  JournalStats Stats() const override { return {}; }
  Status Close() override { return {}; }
};

}  // namespace gearstalk
