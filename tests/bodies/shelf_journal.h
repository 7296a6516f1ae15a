#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "broker/journal/journal.h"
#include "tests/support/kept_journal.h"

namespace gearstalk {

// A journal that keeps bodies and answers when the test says so, in the order that it says.
class ShelfJournal final : public Journal {
 public:
  ShelfJournal() = default;
  explicit ShelfJournal(std::vector<OwnedRecord> records) : kept_(std::move(records)) {
    for (const OwnedRecord& record : kept_.records()) Shelve(record.View());
  }

  Status Start(LiveState& state, JournalEvents& events) override {
    state_ = &state;
    return kept_.Start(state, events);
  }
  // A start finds these records; the bodies that they leave out are on the shelf.
  void Replay(std::vector<OwnedRecord> records) { kept_ = KeptJournal(std::move(records)); }
  // Answers go there, without a Start.
  void Answer(LiveState& state) { state_ = &state; }
  bool Persistent() const override { return true; }
  Lsn Append(const Record& record) override {
    Shelve(record);
    return kept_.Append(record);
  }
  bool Accepts(Record::Kind kind) const override { return kept_.Accepts(kind); }
  Status Health() const override { return kept_.Health(); }
  void Flush(Time now) override { kept_.Flush(now); }
  Lsn Durable() const override { return kept_.Durable(); }
  void SetOnDurable(std::function<void(Lsn)> on_durable) override {
    kept_.SetOnDurable(std::move(on_durable));
  }
  std::uint64_t WaitingBytes() const override { return 0; }
  JournalStats Stats() const override { return {}; }
  Status Close() override { return {}; }

  bool KeepsBodies() const override { return true; }
  Lsn OnDisk() const override { return std::min(on_disk_, kept_.last()); }
  void Fetch(std::uint64_t id, BodyUse use) override { asked_.push_back({id, use, shelf_.at(id)}); }

  // Answers the question at `place`.
  void AnswerOne(std::size_t place = 0) {
    const Asked asked = asked_.at(place);
    asked_.erase(asked_.begin() + static_cast<std::ptrdiff_t>(place));
    BodyRead read{BodyRead::Result::kWhole, asked.body, {}};
    if (damaged_.contains(asked.id)) read = {BodyRead::Result::kDamaged, {}, "damaged"};
    if (fails_) read = {BodyRead::Result::kFailed, {}, "the disk is gone"};
    state_->OnBody(asked.id, read);
  }
  void AnswerAll() {
    for (std::size_t left = asked_.size(); left > 0; --left) AnswerOne();
  }
  std::size_t asked() const { return asked_.size(); }
  std::set<std::uint64_t> AskedIds() const {
    std::set<std::uint64_t> ids;
    for (const Asked& asked : asked_) ids.insert(asked.id);
    return ids;
  }
  void Damage(std::uint64_t id) { damaged_.insert(id); }
  void Repair() { damaged_.clear(); }
  void Fail(bool fails) { fails_ = fails; }
  void KeepOffDisk(Lsn from) { on_disk_ = from; }
  KeptJournal& kept() { return kept_; }
  void Shelve(std::uint64_t id, const std::string& body) { shelf_[id] = body; }

 private:
  struct Asked {
    std::uint64_t id;
    BodyUse use;
    std::string body;
  };

  void Shelve(const Record& record) {
    if (record.kind == Record::Kind::kPut) shelf_[record.id] = record.body;
  }

  KeptJournal kept_;
  LiveState* state_ = nullptr;
  std::map<std::uint64_t, std::string> shelf_;
  std::deque<Asked> asked_;
  std::set<std::uint64_t> damaged_;
  bool fails_ = false;
  Lsn on_disk_ = UINT64_MAX;
};

}  // namespace gearstalk
