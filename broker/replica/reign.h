#pragma once

#include <algorithm>

#include "broker/base/clock.h"

namespace gearstalk {

// How long the active broker may act. It writes a beat every quarter of its lease; a confirmed beat
// moves the deadline to the time at which that beat was sent, plus the lease, less a margin.
// Standbys count the lease from when they received the beat, which is later. So the deadline has
// passed before any of them may acquire.
//
// All times are of CLOCK_BOOTTIME, which counts suspended time.
class Tenure {
 public:
  enum class State : std::uint8_t {
    kActive,
    kSuspended,  // past the deadline: nothing may be read, run or sent
    kIsolated,   // suspended for a further lease: clients should look elsewhere
  };

  Tenure() = default;
  // `sent`: when the first try of the acquire left.
  Tenure(Time lease, Time sent) : lease_(lease), next_beat_(sent + lease / 4) { Confirm(sent); }

  void Confirm(Time sent) {
    deadline_ = std::max(deadline_, sent + lease_ - std::max(kLeastMargin, lease_ / 10));
  }
  Time deadline() const { return deadline_; }
  Time isolated_at() const { return deadline_ + lease_; }
  State At(Time now) const {
    if (now < deadline_) return State::kActive;
    return now < isolated_at() ? State::kSuspended : State::kIsolated;
  }

  Time next_beat() const { return next_beat_; }
  void NoteBeat(Time now) { next_beat_ = now + lease_ / 4; }

 private:
  static constexpr Time kLeastMargin = 200 * kMillisecond;

  Time lease_ = 0;
  Time deadline_ = 0;
  Time next_beat_ = 0;
};

// When a standby may try to take over: the leader's key is vacant, or no new beat was received for
// a whole lease of the leader, and this broker's own looks at the store have been answered for a
// quarter of it. The second condition keeps the leader after a pause of the store: its beat comes
// before the standby has looked for long enough.
class Silence {
 public:
  // `none`: there is no leader or its key is vacant.
  void OnReign(bool none, Time lease, Time now) {
    vacant_ = none;
    lease_ = lease;
    OnBeat(now);
  }
  void OnBeat(Time now) { beat_ = std::max(beat_, now); }
  // A look at the store was answered.
  void OnLook(Time now) {
    if (now - looked_ > lease_ / 4) looking_since_ = now;
    looked_ = now;
  }
  // The store refused the acquire for lack of space: the leader holds on with writes that standbys
  // do not see.
  void OnRefused(Time now) { not_before_ = now + 2 * lease_; }

  bool MayAcquire(Time now) const {
    if (now < not_before_) return false;
    if (vacant_) return true;
    return now >= beat_ + lease_ && now >= looking_since_ + lease_ / 4 &&
           now <= looked_ + lease_ / 4;
  }
  // Whether it is silent long enough that the store itself must be asked, every Pace().
  bool MustLook(Time now) const { return !vacant_ && now >= look_at(); }
  Time look_at() const { return beat_ + lease_ / 4; }
  Time Pace() const { return std::max(lease_ / 16, 10 * kMillisecond); }
  bool vacant() const { return vacant_; }
  Time lease() const { return lease_; }
  Time beat() const { return beat_; }

 private:
  bool vacant_ = false;
  Time lease_ = 0;
  Time beat_ = 0;  // when the newest one was received
  Time looked_ = 0;
  Time looking_since_ = 0;  // first of a row of answered looks
  Time not_before_ = 0;
};

}  // namespace gearstalk
