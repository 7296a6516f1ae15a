#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "broker/journal/journal.h"
#include "broker/journal/record.h"

namespace gearstalk {

// A persistent journal whose disk is a vector. What is appended is durable at once, until
// `HoldBack` is called.
class KeptJournal final : public Journal {
 public:
  KeptJournal() = default;
  explicit KeptJournal(std::vector<OwnedRecord> records) : records_(std::move(records)) {}

  Status Start(LiveState& state, JournalEvents& events) override;
  bool Persistent() const override { return true; }
  Lsn Append(const Record& record) override;
  bool Accepts(Record::Kind kind) const override { return !refused_.contains(kind); }
  bool HasRoomFor(std::uint64_t body) const override { return body <= room_; }
  std::uint64_t SpareIds() const override {
    return Accepts(Record::Kind::kDelete) ? 0 : kFirstSpareId;
  }
  Status Health() const override;
  void Flush(Time now) override;
  Lsn Durable() const override { return holds_back_ ? durable_ : last(); }
  void SetOnDurable(std::function<void(Lsn)> on_durable) override;
  std::uint64_t WaitingBytes() const override { return 0; }
  JournalStats Stats() const override;
  Status Close() override { return {}; }

  const std::vector<OwnedRecord>& records() const { return records_; }
  // Position of the newest record.
  Lsn last() const { return records_.size(); }
  // From now on only MakeDurable and Flush move the durable position.
  void HoldBack() {
    durable_ = last();
    holds_back_ = true;
  }
  void MakeDurable(Lsn lsn);
  // Records of this kind are dropped, as after a failure.
  void Refuse(Record::Kind kind) { refused_.insert(kind); }
  void RefuseAll();
  void AcceptAll() { refused_.clear(); }
  // Records that were appended although they are refused.
  std::size_t dropped() const { return dropped_; }
  // The largest body that there is room for.
  void SetRoom(std::uint64_t room) { room_ = room; }
  DiskSpace Disk() const override { return {.low = disk_low_}; }
  void SetDiskLow(bool low) { disk_low_ = low; }

 private:
  std::vector<OwnedRecord> records_;
  std::set<Record::Kind> refused_;
  std::size_t dropped_ = 0;
  std::uint64_t room_ = UINT64_MAX;
  bool disk_low_ = false;
  std::function<void(Lsn)> on_durable_;
  bool holds_back_ = false;
  Lsn durable_ = 0;
};

}  // namespace gearstalk
