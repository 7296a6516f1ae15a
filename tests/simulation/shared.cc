// Brokers that share a journal, and the store that keeps it.

#include <algorithm>
#include <utility>

#include "broker/replica/replicated_journal.h"
#include "tests/simulation/world.h"

namespace gearstalk::simulation {
namespace {

constexpr int kOtherLeads = 3;  // exit code
constexpr Time kMostAhead = 20 * kSecond;
// Two clocks part by less than the margin of the lease, which is a tenth of it.
constexpr std::int64_t kMostDrift = 20'000;
constexpr std::int64_t kMillion = 1'000'000;

}  // namespace

void World::StartMembers() {
  ledger_.LateReplies();
  if (plan_.Has(Feature::kClocks)) ledger_.ClocksDiffer();
  shard_.keeps_bodies = plan_.Has(Feature::kColdBodies) && plan_.seed % 4 > 0;
  for (int number = 1; number <= plan_.brokers; ++number) {
    Member& member = *members_.emplace_back(std::make_unique<Member>());
    member.name = "broker " + std::to_string(number);
    if (plan_.Has(Feature::kClocks)) {
      member.ahead = random_.Between(-kMostAhead, kMostAhead);
      member.boot_ahead = random_.Between(-1000 * kSecond, 1000 * kSecond);
      member.drift = random_.Between(-kMostDrift, kMostDrift);
    }
    member.clock = FakeClock(now() + member.ahead);
    member.link.boot = [&member] { return member.clock.Now() + member.boot_ahead; };
    // What comes to a paused process is there when it goes on.
    member.link.deliver = [this, &member](std::function<void()> what) {
      const Time awake_at = &member == leader_ ? awake_at_ : member.awake_at;
      const auto hear = [this, what = std::move(what)] {
        heard_ = true;
        what();
      };
      awake_at > now() ? network_.At(awake_at, hear) : hear();
    };
    StartMember(member);
  }
}

std::unique_ptr<Journal> World::SharedJournal(Member& member) {
  ReplicaOptions options;
  options.name = options.address = member.name;
  options.server_name = "simulated";
  options.lease = 2 * kSecond;
  options.max_bytes = 64 << 20;
  options.boot = member.link.boot;
  options.wall = [&member] { return member.clock.Now(); };
  options.random = [this] { return network_.random(); };
  return std::make_unique<ReplicatedJournal>(
      options, std::make_unique<FakeStore>(network_, shard_, member.link));
}

void World::StartMember(Member& member) {
  if (ProcessOf(member) != nullptr) return;
  Say(member.name + " starts");
  member.awake_at = 0;
  member.broker = std::make_unique<Broker>(member.clock, SharedJournal(member), OptionsOfBroker());
  member.broker->policies_version = policies_version_;
  member.broker->engine().SetWallAhead(wall_ahead_);
  member.broker->SetAlive([] { return true; });
  const Status started = member.broker->Start();
  if (!started.ok()) ledger_.Fail(member.name + " does not start: " + started.message());
  heard_ = true;
}

void World::SetClock(Member& member) const {
  const Time elapsed = now() - began_;
  const Time reads = now() + member.ahead + elapsed * member.drift / kMillion;
  member.clock.Advance(reads - member.clock.Now());
}

Time World::TimeOfBroker(Time time) const {
  if (leader_ == nullptr || time == 0) return time;
  const Time since = leader_->clock.Now() - time;
  return now() - (since + since / kMillion * std::max<std::int64_t>(-leader_->drift, 0) * 2);
}

Time World::NextOfMembers() const {
  Time next = network_.next();
  for (const auto& member : members_) {
    if (member->broker == nullptr) continue;
    next =
        std::min(next, std::max(member->broker->NextDue(now(), member->drift), member->awake_at));
  }
  return next;
}

// What happens at the store, and what brokers hear of it.
void World::RunStore() {
  while (ledger_.ok() && network_.Step(now())) continue;
}

void World::RunMembers() {
  const bool heard = std::exchange(heard_, false);
  int leaders = broker_ != nullptr && broker_->MayServe() ? 1 : 0;
  for (const auto& member : members_) {
    if (member->broker == nullptr || member->awake_at > now() || !ledger_.ok()) continue;
    Broker& broker = *member->broker;
    if (!heard && broker.NextDue(now(), member->drift) > now()) continue;
    AdoptPolicies(broker);
    broker.Round();
    if (broker.over()) {
      if (broker.over()->second != kOtherLeads)
        ledger_.Fail(member->name + " ends: " + broker.over()->first.message());
      End(*member, broker.over()->first.message());
    } else if (broker.has_left()) {
      End(*member, "it has left");
    } else if (broker.serving() && broker.MayServe()) {
      Lead(*member);
    }
  }
  for (const auto& member : members_) {
    if (member->broker != nullptr && member->broker->MayServe()) ++leaders;
  }
  if (leaders > 1) ledger_.Fail("two brokers may answer");
}

// It serves from now on. The one that led may not know yet.
void World::Lead(Member& member) {
  Say(member.name + " leads");
  if (leader_ != nullptr) Follow(*leader_);
  leader_ = &member;
  broker_ = std::move(member.broker);
  awake_at_ = member.awake_at;
  ++life_;
  ledger_.OnRestart(true);
  TellPolicies(0);
  served_from_ = now();
  draining_since_ = kNever;
  broker_->engine().SetDraining(false);
  if (shard_.full) ledger_.OnDiskFailure();
  ledger_.Compare(broker_->engine(), now());
}

void World::Follow(Member& member) {
  member.broker = std::move(broker_);
  member.awake_at = std::exchange(awake_at_, 0);
  leader_ = nullptr;
}

// The process is gone. Another one is started later.
void World::End(Member& member, const std::string& why) {
  Say(member.name + " ends: " + why);
  if (&member == leader_) Follow(member);
  const auto broker = std::move(member.broker);
  broker->HangUp();
  network_.After(random_.Between(kMillisecond, 5 * kSecond),
                 [this, &member] { StartMember(member); });
}

void World::DisturbMember() {
  Member& member = *random_.Of(members_);
  Broker* const broker = ProcessOf(member);
  if (plan_.Has(Feature::kKills) && random_.OneIn(4)) {
    if (broker != nullptr) End(member, "it is killed");
    return;
  }
  if (plan_.Has(Feature::kPauses) && random_.OneIn(3)) {
    Say(member.name + " is paused");
    Time& awake_at = &member == leader_ ? awake_at_ : member.awake_at;
    awake_at = std::max(awake_at, now() + random_.Between(kMillisecond, 20 * kSecond));
    return;
  }
  DisturbStore(member);
}

// Partitions, slow answers, lost ones, no space.
void World::DisturbStore(Member& member) {
  FakeLink& link = member.link;
  const bool lossy = plan_.Has(Feature::kIoErrors);
  switch (random_.Below(4)) {
    case 0:
      link.cut = plan_.Has(Feature::kResets) && !link.cut;
      break;
    case 1:
      link.lose_answer = lossy ? static_cast<unsigned>(random_.Below(60)) : 0;
      link.lose_request = lossy ? static_cast<unsigned>(random_.Below(60)) : 0;
      break;
    case 2:
      if (plan_.Has(Feature::kLate)) link.most = random_.Between(kMillisecond, 800 * kMillisecond);
      break;
    default:
      shard_.full = plan_.Has(Feature::kFullDisk) && !shard_.full;
      if (shard_.full) ledger_.OnDiskFailure();
      break;
  }
  Say(member.name + (link.cut ? " is cut off" : " reaches the store") + ", answers take up to " +
      std::to_string(link.most / kMillisecond) + " ms" + (shard_.full ? ", no space" : ""));
}

void World::HealStore() {
  shard_.full = false;
  for (const auto& member : members_) {
    FakeLink& link = member->link;
    link.cut = false;
    link.lose_answer = link.lose_request = 0;
    link.most = 3 * kMillisecond;
  }
}

// A standby has what the one that leads has.
void World::CheckFollowers() {
  if (!shared()) return;
  RunUntil(now() + 10 * kSecond);
  if (!ledger_.ok()) return;
  if (broker_ == nullptr) return ledger_.Fail("nobody leads");
  const auto places = PlacesOf(broker_->engine());
  for (const auto& member : members_) {
    if (member.get() == leader_) continue;
    const bool follows = member->broker != nullptr && member->broker->journal().Replica().caught_up;
    if (!follows) return ledger_.Fail(member->name + " does not follow");
    if (PlacesOf(member->broker->engine()) != places)
      return ledger_.Fail(member->name + " has other jobs than the one that leads");
  }
}

}  // namespace gearstalk::simulation
