#pragma once

#include <algorithm>
#include <deque>
#include <iterator>
#include <vector>

#include "broker/journal/journal.h"
#include "tests/support/kept_journal.h"

namespace gearstalk {

// A log in segments, as the write-ahead log has it: each begins with the settings, live jobs are
// carried out of the oldest into the newest, and the oldest leaves first.
class SegmentedJournal final : public Journal {
 public:
  explicit SegmentedJournal(std::size_t segment_size) : segment_size_(segment_size) {}

  // Before the first Append; nothing is there to be read back.
  Status Start(LiveState& state, JournalEvents& events) override {
    state_ = &state;
    events.OnActive();
    Roll();
    return {};
  }
  bool Persistent() const override { return true; }
  Lsn Append(const Record& record) override {
    segments_.back().emplace_back(record);
    ++lsn_;
    if (segments_.back().size() >= segment_size_) Roll();
    return lsn_;
  }
  bool Accepts(Record::Kind /*kind*/) const override { return true; }
  Status Health() const override { return {}; }
  void Flush(Time /*now*/) override {}
  Lsn Durable() const override { return lsn_; }
  void SetOnDurable(std::function<void(Lsn)> /*on_durable*/) override {}
  std::uint64_t WaitingBytes() const override { return 0; }
  JournalStats Stats() const override { return {}; }
  Status Close() override { return {}; }

  // Carries live jobs out of the oldest segment, `jobs` of them at most, and drops the segment once
  // they are all out.
  void Compact(std::size_t jobs) {
    if (segments_.size() < 2) return;
    for (; at_ < segments_.front().size() && jobs > 0; ++at_) {
      const OwnedRecord& record = segments_.front()[at_];
      if (record.View().kind != Record::Kind::kPut) continue;
      const bool lives = state_->Capture(record.View().id, [&](const Record& now) {
        segments_.back().emplace_back(now);
        ++lsn_;
      });
      jobs -= lives ? 1 : 0;
    }
    if (at_ < segments_.front().size()) return;
    segments_.pop_front();
    at_ = 0;
  }

  // What a restart would read.
  std::vector<OwnedRecord> Log() const {
    std::vector<OwnedRecord> log;
    for (const auto& segment : segments_) {
      std::copy(segment.begin(), segment.end(), std::back_inserter(log));
    }
    return log;
  }

 private:
  void Roll() {
    segments_.emplace_back();
    state_->CaptureSettings([&](const Record& record) {
      segments_.back().emplace_back(record);
      ++lsn_;
    });
  }

  const std::size_t segment_size_;
  LiveState* state_ = nullptr;
  std::deque<std::vector<OwnedRecord>> segments_;
  std::size_t at_ = 0;  // in the oldest segment
  Lsn lsn_ = 0;
};

}  // namespace gearstalk
