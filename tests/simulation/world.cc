#include "tests/simulation/world.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "broker/engine/names.h"
#include "broker/engine/treap.h"
#include "broker/journal/memory_journal.h"
#include "broker/journal/wal/wal_journal.h"
#include "broker/journal/wal/wal_salvage.h"

namespace gearstalk::simulation {
namespace {

// Rounds without any time between them: more is a loop that turns round and round.
constexpr std::uint64_t kMostRoundsAtOnce = 20'000;
// Beyond so many they take time: a request may look again and again whether a body was read.
constexpr std::uint64_t kRoundsForNothing = 100;

std::uint64_t Mixed(std::uint64_t digest, std::string_view text) {
  for (const char each : text)
    digest = (digest ^ static_cast<unsigned char>(each)) * 1099511628211U;
  return digest;
}

}  // namespace

World::World(const Plan& plan, bool verbose)
    : plan_(plan),
      verbose_(verbose),
      random_(plan.seed),
      began_(clock_.Now()),
      network_(plan.seed) {
  network_.now = began_;
  const bool small = random_.OneIn(2);
  segment_size_ = small ? 4096 << random_.Below(3) : 65536 << random_.Below(3);
  // Where the power fails, every sync counts.
  const bool lax = !plan_.Has(Feature::kPowerCuts) && random_.OneIn(3);
  if (lax) sync_ = random_.OneIn(2) ? Sync::kSystem : Sync::kInterval;
  PlanTubes();
  wall_ahead_ = 0;
  wall_ = now();
  if (plan_.Has(Feature::kSchedules)) PlanSchedules();
  if (plan_.Has(Feature::kColdBodies)) ledger_.LateReplies();
}

// Connections know their clients.
World::~World() {
  broker_.reset();
  members_.clear();
}

void World::Say(const std::string& what) {
  digest_ = Mixed(digest_, what);
  if (!verbose_) return;
  std::printf("%10.6f %s\n", Seconds(elapsed()), what.c_str());
}

std::uint64_t World::NumberOf(const std::string& tube) const {
  const Tube* const found = broker_->engine().FindTube(tube);
  return found == nullptr ? 0 : found->id();
}

void World::CheckDurable(JobId id) {
  if (broker_ == nullptr) return;  // it died behind the answer
  if (broker_->engine().PutLsn(id) <= broker_->Durable()) return;
  ledger_.Fail("job " + std::to_string(id) + " was acknowledged before it was durable");
}

bool World::honest() const {
  for (const Feature each : {Feature::kIoErrors, Feature::kFullDisk, Feature::kDescriptors,
                             Feature::kReplicated, Feature::kDrains}) {
    if (plan_.Has(each)) return false;
  }
  return true;
}

void World::After(Time delay, std::function<void()> what) {
  events_.emplace(now() + delay, std::move(what));
}

Broker::Options World::OptionsOfBroker() {
  Broker::Options options;
  options.engine.default_ttr_s = kDefaultTtr;
  options.engine.normal_to = 65536;
  options.rules = Policies();
  options.schedules = schedules_;
  options.engine.wall_clock = [] { return wall_; };
  if (plan_.Has(Feature::kColdBodies)) options.limits.bodies = 1 + plan_.seed % 3 * 2000;
  return options;
}

std::unique_ptr<Journal> World::NewJournal() {
  wal_ = nullptr;
  if (!plan_.Has(Feature::kJournal)) return std::make_unique<MemoryJournal>();
  WalOptions options;
  options.directory = "/journal";
  options.sync = sync_;
  options.interval = 50 * kMillisecond;
  options.segment_size = segment_size_;
  options.file_system = &disk_;
  options.own_thread = options.works_in_flush = false;
  options.indexes = !plan_.Has(Feature::kRot);  // or damage shows when it is read
  options.salt = plan_.seed + life_ + 1;
  auto journal = WalJournal::Open(options);
  if (journal.ok()) {
    wal_ = journal.value().get();
    return std::move(journal.value());
  }
  Say("the journal does not open: " + journal.status().message());
  if (!DiskFails()) ledger_.Fail("the journal does not open: " + journal.status().message());
  return nullptr;
}

// How long after a hand-over the writer begins.
Time World::WriterDelay() {
  const bool late = plan_.Has(Feature::kLate) && !healed_;
  if (late && random_.OneIn(20)) return random_.Between(0, 2 * kSecond);
  return random_.Between(0, late ? 20 * kMillisecond : 2 * kMillisecond);
}

bool World::Start() {
  ++life_;
  std::unique_ptr<Journal> journal = NewJournal();
  if (journal == nullptr) return false;
  auto broker = std::make_unique<Broker>(clock_, std::move(journal), OptionsOfBroker());
  broker->SetAlive([this] { return !disk_.stopped(); });
  if (Status started = broker->Start(); !started.ok()) {
    Say("the broker does not start: " + started.message());
    if (started.code() == Code::kCorrupt && rotten_) {
      std::string report;
      broker.reset();
      disk_.Restart(Loss::kNone);
      const Status salvaged = SalvageJournal(disk_, "/journal", report, segment_size_);
      Say("salvage: " + report);
      if (!salvaged.ok() && !DiskFails()) ledger_.Fail("salvage fails: " + salvaged.message());
      return false;
    }
    if (!DiskFails()) ledger_.Fail("the broker does not start: " + started.message());
    return false;
  }
  if (wal_ != nullptr) {
    broker->SetWriter([this] { return wal_->RunWriter(); }, [this] { return WriterDelay(); });
  }
  broker_ = std::move(broker);
  disk_failed_ = rotten_ = false;
  if (disk_full_) ledger_.OnDiskFailure();
  broker_->policies_version = policies_version_;
  broker_->engine().SetWallAhead(wall_ahead_);
  served_from_ = now();
  draining_since_ = kNever;
  TellPolicies(0);
  Say("the broker serves");
  ledger_.Compare(broker_->engine(), now());
  CheckPlaces();
  return true;
}

std::map<JobId, std::string> World::PlacesOf(const Engine& engine) {
  std::map<JobId, std::string> places;
  for (const Job* job = engine.NextJob(0); job != nullptr; job = engine.NextJob(job->id())) {
    if (!job->durable) continue;
    std::string& place = places[job->id()];
    place.append("in ").append(job->tube().name());
    if (!job->origin().empty()) place.append(", of ").append(job->origin());
    if (job->state() != JobState::kBuried) continue;
    place.append(", buried: ").append(NameOf(job->extra().cause));
  }
  const Transfers& transfers = engine.transfers();
  for (JobId last = 0; const Transfers::Held* const held = transfers.NextHeld(last);) {
    last = held->record.View().id;
    const bool sent = held->record.View().transfer.held == Record::Held::kSecondPhase;
    places[last] = "held by " + held->transfer + (sent ? ", in phase 2" : ", in phase 1");
  }
  return places;
}

std::map<std::string, Time> World::PausesOf(const Engine& engine) {
  std::map<std::string, Time> pauses;
  for (const Tube* tube = engine.NextTube(0); tube != nullptr; tube = engine.NextTube(tube->id())) {
    if (tube->paused() && tube->unfinished() + tube->buried() > 0)
      pauses[tube->name()] = tube->settings.pause_until;
  }
  return pauses;
}

// After a stop in order, every job is where it was, no other is there, and pauses go on.
void World::CheckPlaces() {
  const auto before = std::exchange(stopped_places_, std::nullopt);
  if (!before || ledger_.damaged()) return;
  const std::map<JobId, std::string> after = PlacesOf(broker_->engine());
  for (const auto& [id, place] : *before) {
    const auto found = after.find(id);
    if (found == after.end() && place.starts_with("in p-expires")) continue;
    const std::string now_in = found == after.end() ? "nowhere" : found->second;
    if (now_in != place) {
      ledger_.Fail("job " + std::to_string(id) + " was " + place + ", and is " + now_in +
                   " after a stop in order");
    }
  }
  const bool more = after.size() > before->size() && !plan_.Has(Feature::kSchedules);
  if (more) ledger_.Fail("a stop in order made jobs");
  const auto pauses = PausesOf(broker_->engine());
  for (const auto& [tube, until] : stopped_pauses_) {
    const bool there = broker_->engine().FindTube(tube) != nullptr;
    const auto found = pauses.find(tube);
    if (until > now() && there && (found == pauses.end() || found->second != until))
      ledger_.Fail("the pause of " + tube + " did not outlive a stop in order");
  }
}

void World::Restart(Time after) {
  if (std::exchange(starting_, true)) return;
  After(after, [this] {
    starting_ = false;
    if (broker_ != nullptr || Start()) return;
    if (disk_.stopped()) disk_.Restart(Loss::kNone);
    Restart(kSecond);
  });
}

// The process, or the machine, is gone. What left the broker before was sent.
void World::Crash(Loss loss) {
  Say(loss == Loss::kNone ? "the process dies" : "the power fails");
  dying_ = power_ = false;
  stopped_places_.reset();
  awake_at_ = 0;
  if (!disk_.stopped()) disk_.StopAt(disk_.calls() + 1);
  broker_.reset();
  GiveDescriptors();  // they were those of the process
  disk_.Restart(loss, static_cast<std::uint32_t>(random_.Below(UINT32_MAX)));
  for (auto& client : clients_) client->OnClosed();
  operator_.OnCrash();
  ledger_.OnRestart(plan_.Has(Feature::kJournal));
  if (plan_.Has(Feature::kRot) && !healed_ && random_.OneIn(3)) Rot();
  Restart(random_.Between(kMillisecond, 5 * kSecond));
}

void World::StopInOrder() {
  Say("the broker stops");
  if (shared()) {
    broker_->Leave();
    return Follow(*leader_);
  }
  // The journal may not have noticed yet that the disk works again.
  const JournalStats before = broker_->engine().journal().Stats();
  const Status stopped = broker_->Stop();
  if (!stopped.ok()) {
    Say("the journal does not close: " + stopped.message());
    if (!DiskFails() && !before.full && !before.failed)
      ledger_.Fail("the journal does not close: " + stopped.message());
  }
  const bool kept = stopped.ok() && plan_.Has(Feature::kJournal) && !DiskFails();
  auto places = kept ? std::optional(PlacesOf(broker_->engine())) : std::nullopt;
  auto pauses = PausesOf(broker_->engine());
  Crash(Loss::kNone);
  stopped_places_ = std::move(places);
  stopped_pauses_ = std::move(pauses);
}

void World::Advance(Time to) {
  if (to <= now()) return;
  disk_.Advance(to - now());
  clock_.Advance(to - now());
  for (const auto& member : members_) SetClock(*member);
  network_.now = now();
  wall_ = now() + wall_ahead_;
  wall_most_ = std::max(wall_most_, wall_);
  ledger_.Advance(to);
  rounds_at_once_ = 0;
}

void World::RunRound() {
  if (const std::uint64_t rounds = ++rounds_at_once_; rounds > kRoundsForNothing) {
    if (rounds > kMostRoundsAtOnce) return ledger_.Fail("it turns round and round");
    Advance(now() + kMillisecond);
    rounds_at_once_ = rounds;
  }
  if (AdoptPolicies(*broker_)) TellPolicies(now());
  broker_->Round();
  if (broker_->over()) return End(*leader_, broker_->over()->first.message());
  if (disk_.stopped()) return Crash(LossOf(power_));
  if (DiesAfterReplies()) return;
  if (random_.OneIn(16)) {
    const std::string wrong = broker_->CheckInvariants();
    if (!wrong.empty()) ledger_.Fail("the engine does not agree with itself: " + wrong);
  }
  ledger_.CheckOrder(!broker_->AnyUnsent());
  ledger_.CheckLineEnds([this](const KnownJob& job) {
    return std::any_of(clients_.begin(), clients_.end(),
                       [&](const auto& client) { return client->AwaitsDeletion(job); });
  });
  if (random_.OneIn(500)) ledger_.Compare(broker_->engine(), now());
}

// The next round, if nothing happens before. A process that is paused now and then also comes a
// little late to what is due.
Time World::NextRound() const {
  if (broker_ == nullptr) return kNever;
  const Time due = broker_->NextDue(now(), leader_ == nullptr ? 0 : leader_->drift);
  const bool late = plan_.Has(Feature::kPauses) && due > now() && due != kNever;
  constexpr std::uint64_t kMostLate{50 * kMillisecond};
  return std::max(
      late ? due + static_cast<Time>(MixedBits(static_cast<std::uint64_t>(due)) % kMostLate) : due,
      awake_at_);
}

// Runs what happens until then. A round follows whatever happened at one time.
void World::RunUntil(Time until) {
  while (ledger_.ok()) {
    const Time round = NextRound();
    const Time event = events_.empty() ? kNever : events_.begin()->first;
    const Time next = std::min({round, event, NextOfMembers()});
    if (next > until) break;
    Advance(next);
    while (!events_.empty() && events_.begin()->first <= now() && ledger_.ok()) {
      const auto what = std::move(events_.extract(events_.begin()).mapped());
      what();
    }
    RunStore();
    if (broker_ != nullptr && ledger_.ok() && awake_at_ <= now()) RunRound();
    RunMembers();
  }
  Advance(until);
}

void World::MakeClients() {
  for (int number = 1; number <= plan_.clients; ++number) {
    const bool gearman = plan_.Has(Feature::kGearman) && random_.OneIn(3);
    if (gearman) {
      clients_.push_back(std::make_unique<GearmanClient>(*this, number, random_.OneIn(2)));
    } else {
      clients_.push_back(std::make_unique<BeanstalkClient>(*this, number));
    }
    After(random_.Between(0, kSecond), [client = clients_.back().get()] { client->Connect(); });
  }
}

void World::ListJobs() const {
  if (broker_ == nullptr) return;
  const Engine& engine = broker_->engine();
  for (const Job* job = engine.NextJob(0); job != nullptr; job = engine.NextJob(job->id())) {
    std::printf("job %llu in %s, group '%s': %s%s, priority %u, %.3f s left\n",
                static_cast<unsigned long long>(job->id()), job->tube().name().c_str(),
                std::string(GroupNameOf(*job)).c_str(), std::string(NameOf(job->state())).c_str(),
                job->durable ? "" : ", in memory", job->priority,
                Seconds(engine.TimeLeft(now(), *job)));
  }
}

std::string World::Run() {
  disk_.MakeDirectory("/");
  if (shared()) {
    StartMembers();
  } else if (!Start()) {
    ledger_.Fail("a new broker does not start");
  }
  MakeClients();
  PlanFault();
  if (plan_.Has(Feature::kReloads)) PlanReload();
  if (plan_.Has(Feature::kSchedules)) WatchSchedules();
  if (plan_.Has(Feature::kClockSteps)) StepClock();
  // Transfers hold what a journal keeps.
  const bool kept = plan_.Has(Feature::kJournal) || shared();
  if (plan_.Has(Feature::kTransfers) && kept) operator_.Begin();
  if (plan_.Has(Feature::kDrains)) PlanDrain();
  RunUntil(began_ + plan_.length);
  if (ledger_.ok()) Finish();
  if (!ledger_.ok() && verbose_) ListJobs();
  return ledger_.failure();
}

}  // namespace gearstalk::simulation
