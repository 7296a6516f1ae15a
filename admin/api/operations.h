#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <string>

#include "admin/api/audit.h"
#include "admin/api/call.h"
#include "admin/api/job_walk.h"

namespace gearstalk::api {

// One act on all jobs that a filter selects: counts them first, acts once the count is confirmed.
class Operation final : public SliceWork {
 public:
  enum class State : std::uint8_t {
    kCounting,
    kCounted,
    kRunning,
    kDone,
    kStopped,
    kFailed,
    kExpired,
  };
  enum class Action : std::uint8_t { kDelete, kKick, kBury, kRelease, kMove, kCopy };

  struct Order {
    Action action;
    Filter filter;
    Json told;       // the filter as it was sent
    std::string to;  // a tube
    Caller caller;
    std::string request_id;
  };

  Operation(Engine& engine, Audit& audit, std::uint64_t id, Order order, Time now);

  bool RunSlice(Time now) override;

  std::uint64_t id() const { return id_; }
  State state() const { return state_; }
  std::uint64_t count() const { return count_; }
  const Order& order() const { return order_; }
  // Callers whose rights are limited to some tubes see their own operations only.
  bool SeenBy(const Caller& caller) const {
    return caller.grant.SeesAll() || caller.user == order_.caller.user;
  }
  Time changed() const { return changed_; }
  bool ended() const { return state_ > State::kRunning; }
  bool active() const { return state_ == State::kCounting || state_ == State::kRunning; }
  // When this is durable, all that it did is.
  Lsn lsn() const { return lsn_; }

  void Confirm(const Caller& caller, std::string_view request_id, Time now);
  void Stop(Time now);
  void Expire(Time now) { End(State::kExpired, now); }
  // Rises with every change.
  std::uint64_t version() const { return version_; }
  Json Object() const;

 private:
  void Count(Time now);
  void Act(Time now);
  bool JournalIsBehind() const;
  Code Apply(const Job& job, Time now);
  void NoteEnd(Code code, Time now);
  bool EndIfAll(Time now);
  Code PutCopy(Time now);
  // The disk does not give a body.
  void GiveUp(Time now);
  void End(State state, Time now);
  void Record(std::string_view result, std::uint64_t count, Time now);

  Engine& engine_;
  Audit& audit_;
  const std::uint64_t id_;
  Order order_;
  State state_ = State::kCounting;
  std::optional<JobWalk> walk_;  // while it is active: it keeps the body that it looked at last
  JobPtr copy_;                  // being put
  std::string copy_to_;
  ComparisonPtr compared_;  // of it
  Time copy_since_ = 0;
  JobId as_of_;
  std::uint64_t count_ = 0, done_ = 0, skipped_ = 0, failed_ = 0, scanned_ = 0;
  Time created_, changed_, ended_at_ = 0;
  std::optional<Problem> problem_;
  Lsn lsn_ = 0;
  std::uint64_t version_ = 0;
};

std::string_view NameOf(Operation::Action action);
std::string_view NameOf(Operation::State state);

class Operations {
 public:
  static constexpr std::size_t kActive = 4;
  static constexpr std::size_t kKept = 64;
  static constexpr Time kConfirmWithin = 300 * kSecond;

  Operations(Engine& engine, SliceQueue& slices, Audit& audit)
      : engine_(engine), slices_(slices), audit_(audit) {}

  // nullptr: too many are under way.
  Operation* Begin(Operation::Order order, Time now);
  // False: too many are under way.
  bool Confirm(Operation& operation, const Caller& caller, std::string_view request_id, Time now);
  void Stop(Operation& operation, Time now);
  Operation* Find(std::uint64_t id) const;
  // The newest is the last.
  const std::deque<std::unique_ptr<Operation>>& all() const { return all_; }
  void Tick(Time now);

 private:
  bool Busy() const;

  Engine& engine_;
  SliceQueue& slices_;
  Audit& audit_;
  std::deque<std::unique_ptr<Operation>> all_;
  std::uint64_t last_id_ = 0;
};

}  // namespace gearstalk::api
