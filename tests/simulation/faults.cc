// What goes wrong in a run.

#include <algorithm>
#include <cerrno>

#include "broker/journal/wal/wal_journal.h"
#include "tests/simulation/world.h"

namespace gearstalk::simulation {
namespace {

constexpr std::uint64_t kSector = 512;
// Of rounds that answer while the journal has something to write, one in so many is the last.
constexpr std::uint64_t kRepliesPerDeath = 1000;

}  // namespace

void World::PlanFault() {
  After(random_.Between(kMillisecond, 10 * kSecond), [this] {
    if (healed_) return;
    if (shared() && random_.OneIn(2)) {
      DisturbMember();
    } else if (broker_ != nullptr) {
      Disturb();
    }
    PlanFault();
  });
}

void World::Disturb() {
  if (!shared() && plan_.Has(Feature::kDescriptors) && random_.OneIn(8)) return FailOpens();
  const auto chosen = static_cast<Feature>(random_.Below(static_cast<int>(Feature::kColdBodies)));
  if (!plan_.Has(chosen)) return DisturbClient();
  if (shared() && chosen != Feature::kRestarts) return DisturbClient();
  switch (chosen) {
    case Feature::kKills:
      return Kill(false);
    case Feature::kPowerCuts:
      return Kill(true);
    case Feature::kRestarts:
      return StopInOrder();
    case Feature::kPauses:
      Say("the process is paused");
      awake_at_ = now() + random_.Between(kMillisecond, 20 * kSecond);
      return;
    case Feature::kIoErrors:
      return FailCalls();
    case Feature::kFullDisk:
      return FillDisk();
    default:
      return DisturbClient();
  }
}

void World::DisturbClient() {
  Client& client = *random_.Of(clients_);
  if (plan_.Has(Feature::kResets) && random_.OneIn(2)) {
    if (random_.OneIn(4)) return client.HalfClose();
    return client.Reset(random_.OneIn(3) ? random_.Between(0, kLatestBreak) : kMillisecond);
  }
  if (!plan_.Has(Feature::kStalls)) return;
  client.Stall(true);
  After(random_.Between(kMillisecond, 40 * kSecond), [&client] { client.Stall(false); });
}

// At one of the next calls to the file system; soon, if there is none.
void World::Kill(bool power) {
  if (std::exchange(dying_, true)) return;
  power_ = power;
  disk_.StopAt(disk_.calls() + 1 + random_.Below(20), random_.OneIn(2) ? random_.Below(2000) : 0);
  After(random_.Between(0, 3 * kSecond), [this, life = life()] {
    if (this->life() != life || !dying_) return;
    Crash(LossOf(power_));
  });
}

// The moment at which a reply that did not wait for the disk shows: it has left, and what came with
// it is not written.
bool World::DiesAfterReplies() {
  const bool kills = plan_.Has(Feature::kKills);
  const bool power = plan_.Has(Feature::kPowerCuts) && !shared();
  if ((!kills && !power) || healed_ || !broker_->answered()) return false;
  if (broker_->journal().WaitingBytes() == 0 || !random_.OneIn(kRepliesPerDeath)) return false;
  if (shared()) {
    End(*leader_, "it is killed after replies");
  } else {
    Crash(LossOf(power && (!kills || random_.OneIn(2))));
  }
  return true;
}

// While something else is wrong.
void World::KillLater() {
  const bool power = plan_.Has(Feature::kPowerCuts);
  if (!power && !plan_.Has(Feature::kKills)) return;
  After(random_.Between(kMillisecond, 5 * kSecond), [this, power, life = life()] {
    if (this->life() == life && !healed_) Kill(power);
  });
}

// Nothing can be opened for a while.
void World::FailOpens() {
  Say("there are no descriptors");
  no_descriptors_ = true;
  disk_.FailOpens(0, EMFILE, 1 + random_.Below(200));
  ledger_.OnDiskFailure();
  if (random_.OneIn(2)) KillLater();
  After(random_.Between(kSecond, 20 * kSecond), [this] { GiveDescriptors(); });
}

void World::GiveDescriptors() {
  if (!std::exchange(no_descriptors_, false)) return;
  Say("there are descriptors");
  disk_.FailOpens(0, 0, 0);
  served_from_ = std::max(served_from_, now());
}

// Some calls in a row fail. Whatever has become of the journal, an operator starts the broker anew.
void World::FailCalls() {
  const bool space = random_.OneIn(3);
  Say(space ? "a call to the disk finds no space" : "a call to the disk fails");
  disk_failed_ = true;
  ledger_.OnDiskFailure();
  disk_.FailAt(disk_.calls() + 1 + random_.Below(8), space ? ENOSPC : EIO, 1 + random_.Below(3));
  After(random_.Between(kSecond, 15 * kSecond), [this, life = life()] {
    if (this->life() == life) StopInOrder();
  });
}

void World::FillDisk() {
  Say("the disk is full");
  disk_full_ = true;
  ledger_.OnDiskFailure();
  const bool to_the_last_byte = random_.OneIn(2);
  disk_.SetCapacity(disk_.UsedBytes() + (to_the_last_byte ? 0 : random_.Below(2 * segment_size_)));
  if (random_.OneIn(2)) KillLater();
  After(random_.Between(kSecond, 20 * kSecond), [this] {
    Say("the disk has space");
    disk_.SetCapacity(UINT64_MAX);
    disk_full_ = false;
    served_from_ = std::max(served_from_, now());
  });
}

// The disk is not what was written to it.
void World::Rot() {
  std::vector<std::string> logs;
  for (const std::string& name : disk_.Names()) {
    if (name.ends_with(".wal")) logs.push_back(name);
  }
  if (logs.empty()) return;
  const std::string& path = random_.Of(logs);
  std::string content = disk_.Content(path);
  if (content.size() < 2 * kSector) return;
  const std::size_t sector = random_.Below(content.size() / kSector) * kSector;
  switch (random_.Below(3)) {
    case 0:
      content[random_.Below(content.size())] ^= static_cast<char>(1U << random_.Below(8));
      break;
    case 1:
      std::fill_n(content.begin() + static_cast<std::ptrdiff_t>(sector), kSector, '\0');
      break;
    default:
      content.replace(sector, kSector, disk_.Content(random_.Of(logs)).substr(0, kSector));
      break;
  }
  Say("rot in " + path);
  disk_.SetContent(path, content);
  rotten_ = true;
  ledger_.OnDamage();
}

void World::Heal() {
  healed_ = true;
  disk_.SetCapacity(UINT64_MAX);
  GiveDescriptors();
  SetDraining(false);
  if (shared()) {
    HealStore();
  } else {
    awake_at_ = 0;
  }
  for (auto& client : clients_) client->Stall(false);
}

}  // namespace gearstalk::simulation
