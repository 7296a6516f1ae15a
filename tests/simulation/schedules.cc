// Jobs that come by the calendar, and a wall clock that is set.

#include <algorithm>
#include <charconv>
#include <utility>

#include "tests/simulation/world.h"

namespace gearstalk::simulation {
namespace {

// How long after its planned time a job may come.
constexpr Time kLate = 3 * kSecond;
// The engine reads the wall clock at least this often.
constexpr Time kReadClock = 60 * kSecond;

}  // namespace

void World::PlanSchedules() {
  const std::uint64_t count = 1 + random_.Below(3);
  for (std::uint64_t number = 0; number < count; ++number) {
    Schedule schedule{.name = "s" + std::to_string(number)};
    if (random_.OneIn(3)) {
      schedule.cron = "*/10 * * * * *";
    } else {
      schedule.every = random_.Between(2, 20) * kSecond;
    }
    const bool tries = plan_.Has(Feature::kPolicies) && random_.OneIn(3);
    schedule.tube = tries ? "p-running" : tubes_.front();
    schedule.body = std::string(kScheduled) + "{name} {epoch}";
    schedule.priority = 5;
    schedule.ttr_s = 10;
    schedule.overlap = random_.OneIn(2);
    schedule.catch_up = 30 * kSecond;
    all_schedules_[schedule.name] = schedule;
    schedules_.push_back(std::move(schedule));
  }
  ledger_.ExpectScheduled([this](std::string_view body) { return ExpectScheduled(body); });
}

std::optional<KnownJob> World::ExpectScheduled(std::string_view body) const {
  const std::string_view rest = body.substr(kScheduled.size());
  const std::size_t space = rest.find(' ');
  const auto found = all_schedules_.find(std::string(rest.substr(0, space)));
  if (space == std::string_view::npos || found == all_schedules_.end()) return std::nullopt;
  std::int64_t planned = 0;
  std::from_chars(rest.data() + space + 1, rest.data() + rest.size(), planned);
  const Schedule& schedule = found->second;
  const Time every = schedule.every == 0 ? 10 * kSecond : schedule.every;
  if (planned == 0 || planned * kSecond % every != 0 || planned * kSecond > wall_most_)
    return std::nullopt;
  return KnownJob{.tube = schedule.tube, .priority = schedule.priority, .ttr_s = schedule.ttr_s};
}

void World::WatchSchedules() {
  After(kSecond, [this] {
    if (healed_) return;
    if (broker_ != nullptr && !shared()) {
      for (const Schedule& schedule : schedules_) CheckSchedule(schedule);
    }
    if (broker_ != nullptr && awake_at_ <= now() && random_.OneIn(40)) {
      const std::string& name = random_.Of(schedules_).name;
      const bool on = random_.OneIn(2);
      Say("schedule " + name + (on ? " on" : " off"));
      broker_->engine().schedules().Switch(now(), name, on);
      served_from_ = std::max(served_from_, now());
    }
    WatchSchedules();
  });
}

// While nothing disturbs it, no planned time goes by without its job.
void World::CheckSchedule(const Schedule& schedule) {
  const Engine& engine = broker_->engine();
  const RunningSchedule* const running = engine.schedules().Find(schedule.name);
  const bool quiet = served_from_ + kLate < now() && awake_at_ + kLate < now();
  if (running == nullptr || running->off || !quiet || DiskFails() || draining_since_ != kNever)
    return;
  const Time every = schedule.every == 0 ? 10 * kSecond : schedule.every;
  const Time due = (wall_ - kLate) / every * every;
  if (due <= served_from_ + wall_ahead_) return;
  if (running->planned < due)
    ledger_.Fail(schedule.name + " was due " + std::to_string((now() - due) / kSecond) +
                 " s ago, and did not run");
  const Job* const job = engine.Find(running->last_job);
  if (job == nullptr || !job->has_body() || !job->body().starts_with(kScheduled)) return;
  if (broker_->engine().PutLsn(job->id()) <= broker_->Durable())
    ledger_.OnScheduled(job->body(), job->id());
}

void World::EndSchedules() {
  schedules_.clear();
  ++policies_version_;
  heard_ = true;
}

// Forwards, or backwards.
void World::StepClock() {
  After(random_.Between(kSecond, 60 * kSecond), [this] {
    if (healed_) return;
    wall_ahead_ += random_.Between(-30, 30) * kSecond;
    wall_ = now() + wall_ahead_;
    wall_most_ = std::max(wall_most_, wall_);
    served_from_ = now() + kReadClock;
    Say("the wall clock is set, " + std::to_string(wall_ahead_ / kSecond) + " s ahead");
    if (broker_ != nullptr) broker_->engine().SetWallAhead(wall_ahead_);
    for (const auto& member : members_) {
      if (member->broker != nullptr) member->broker->engine().SetWallAhead(wall_ahead_);
    }
    StepClock();
  });
}

}  // namespace gearstalk::simulation
