#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "broker/replica/log_store.h"

namespace gearstalk {

// Time that only tests move, and what happens at it.
class Simulation {
 public:
  explicit Simulation(std::uint64_t seed) : random(seed) {}

  void At(Time time, std::function<void()> what) {
    queue_.emplace(std::max(time, now), std::move(what));
  }
  void After(Time delay, std::function<void()> what) { At(now + delay, std::move(what)); }
  // Runs what happens next, unless that is after `until`.
  bool Step(Time until);
  void RunUntil(Time until);
  // When something happens next.
  Time next() const { return queue_.empty() ? kNever : queue_.begin()->first; }
  std::uint64_t Below(std::uint64_t bound) { return random() % bound; }
  bool Chance(unsigned percent) { return Below(100) < percent; }

  Time now = 1000 * kSecond;
  std::mt19937_64 random;

 private:
  std::multimap<Time, std::function<void()>> queue_;
};

// The keys of a shard, in memory.
struct FakeShard {
  struct Event {
    enum class Kind : std::uint8_t { kPart, kReign, kBeat } kind = Kind::kBeat;
    Revision at = 0, beat = 0;
    LogPart part;
    Reign reign;
  };

  LogView view;  // newest value of each small key
  std::map<std::uint64_t, std::string> parts;
  std::map<std::uint64_t, Revision> written;  // when each part was
  std::vector<Event> history;
  bool full = false;
  bool keeps_bodies = false;
  std::map<std::uint64_t, Code> unreadable;  // parts, and why pieces of them cannot be read
  Revision compacted = 0;                    // there is no history before
  Revision trimmed_at = 0;                   // the last trim

  Revision Begin() { return ++view.at; }
  void NotePart(LogPart part);
  void NoteReign(const Reign& reign);
  void NoteBeat();
};

// How a broker and the shard reach each other.
struct FakeLink {
  bool cut = false;
  std::uint64_t appends = 0, fetches = 0, reads = 0;  // that were asked for
  unsigned lose_request = 0, lose_answer = 0;         // percent
  Time least = 200 * kMicrosecond, most = 3 * kMillisecond;
  Time hedge = 250 * kMillisecond;
  Time watch_late = 0;  // what is watched comes so much later
  // A tool has no loop: it waits until `notify_fd` is readable, and then calls Tick.
  int notify_fd = -1;
  std::function<void()> tick = nullptr;
  // What a call is answered with, unless it is kDone: then with what the shard says.
  StoreResult opened = {}, looked = {}, acquired = {}, read = {}, founded = {}, announced = {};
  bool appends_wait = false;             // they are not done, and not answered
  std::optional<StoreResult> watch_end;  // ends the watch that is open, once
  StoreStats stats = {};
  // The clock of the host; none: that of the simulation.
  std::function<Time()> boot = nullptr;
  // Runs what comes to the broker; a stopped broker keeps it for later.
  std::function<void(std::function<void()>)> deliver = [](const std::function<void()>& what) {
    what();
  };
};

// A LogStore whose calls are lost, late, and made twice: as long as a call has no answer it goes
// out again, and every try that arrives is carried out.
class FakeStore final : public LogStore {
 public:
  FakeStore(Simulation& simulation, FakeShard& shard, FakeLink& link)
      : simulation_(simulation), shard_(shard), link_(link) {}
  ~FakeStore() override { *alive_ = false; }

  void Open(Done done) override;
  int NotifyFd() const override { return link_.notify_fd; }
  void OnNotify() override {}
  Time Tick(Time) override {
    if (link_.tick) link_.tick();
    return kNever;
  }
  void Look(std::function<void(StoreResult, const LogView&)> done) override;
  void Found(const ShardMeta& meta, Done done) override;
  void Announce(const Reign& standby, Done done) override;
  void ReplaceMeta(Revision seen, const ShardMeta& meta, Done done) override;
  void Acquire(const LogView& seen, const Reign& reign,
               std::function<void(StoreResult, const Acquired&)> done) override;
  void Append(Revision fence, std::uint64_t seq, const std::string& bytes, std::uint64_t oldest,
              Done done) override;
  void Beat(Revision fence, std::uint64_t epoch,
            std::function<void(StoreResult, Time sent)> done) override;
  void Release(Revision fence, const Reign& reign, Done done) override;
  void Trim(Revision fence, std::uint64_t below,
            std::function<void(StoreResult, bool more)> done) override;
  void Read(std::uint64_t from, std::uint64_t count, Revision at,
            std::function<void(StoreResult, std::vector<LogPart>)> done) override;
  bool KeepsBodies() const override { return shard_.keeps_bodies; }
  void Fetch(
      Revision fence, const std::vector<PartPiece>& pieces,
      const std::function<void(StoreResult, const std::vector<std::string>&)>& done) override;
  void Follow(Revision from, LogWatcher& watcher) override;
  void StopFollowing() override { ++watch_; }
  StoreStats Stats() const override { return link_.stats; }
  const StoreWords& Words() const override {
    static const StoreWords words = {.name = "the store",
                                     .within = "in",
                                     .shard = "shard",
                                     .option = "shard",
                                     .erase = "erase it",
                                     .command = "erase",
                                     .backup = "backup",
                                     .make_room = "make room"};
    return words;
  }

 private:
  using Answer = std::function<void()>;
  Time Sent() const { return link_.boot ? link_.boot() : simulation_.now; }

  // Carried out at the shard; `sent` is when the try left. Without an answer it goes out again.
  using Execute = std::function<Answer(Time sent)>;

  void Do(Execute execute);
  void Try(const std::shared_ptr<bool>& answered, const Execute& execute);
  Time Delay() {
    return link_.least + static_cast<Time>(simulation_.Below(
                             static_cast<std::uint64_t>(link_.most - link_.least)));
  }
  void Tell(std::uint64_t watch, std::size_t next, LogWatcher& watcher);
  bool Fenced(Revision fence) const { return shard_.view.leader_at != fence; }

  Simulation& simulation_;
  FakeShard& shard_;
  FakeLink& link_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  Revision tail_at_ = 0;
  std::uint64_t watch_ = 0;  // number of the watch that is open
};

}  // namespace gearstalk
