#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "broker/journal/journal.h"
#include "broker/replica/replicated_journal.h"
#include "tests/replica/fake_store.h"

namespace gearstalk {

// What clients were told, by all brokers of a simulation together.
struct Ledger {
  std::set<std::uint64_t> put, deleted;          // acknowledged
  std::set<std::uint64_t> ending;                // a deletion was asked for
  std::map<std::uint64_t, std::uint64_t> group;  // of each job that was asked for: its round
  std::vector<std::string> faults;               // what must not happen

  void Fault(const std::string& what) { faults.push_back(what); }
};

// A broker process: a replicated journal, a state that is the set of live jobs, and clients that
// put and delete while it serves. Killing it leaves what it sent on its way. Where bodies stay in
// the store, they leave memory as soon as they may, and are read back now and then.
class SimBroker final : private JournalEvents, private LiveState {
 public:
  SimBroker(Simulation& simulation, FakeShard& shard, Ledger& ledger, std::string name);

  void Start();
  void Kill();
  // Stopped: nothing comes to it, and it does nothing; time goes on.
  void Stop();
  void Continue();
  void Leave();

  bool running() const { return journal_ != nullptr; }
  bool stopped() const { return stopped_; }
  bool serving() const { return journal_ != nullptr && serving_ && !suspended_; }
  bool may_serve() const { return journal_ != nullptr && journal_->MayServe(); }
  bool caught_up() const { return journal_ != nullptr && journal_->Replica().caught_up; }
  const std::set<std::uint64_t>& jobs() const { return jobs_; }
  std::optional<int> exit_code() const { return exit_code_; }
  const std::string& why() const { return why_; }
  ReplicatedJournal& journal() { return *journal_; }

  FakeLink link;
  std::uint64_t max_bytes = 1 << 20;
  std::size_t body_size = 20;
  int tubes = 0;             // that are paused
  bool ends_pauses = false;  // of a tube, when it becomes active
  Time lease = 2 * kSecond;
  unsigned put_percent = 50, delete_percent = 60;
  // Batches, each of one part, that became durable, and those behind which the next was sent by
  // then.
  std::uint64_t batches = 0, followed = 0;
  std::uint64_t bodies_read = 0;
  bool needs_bodies = false;               // some, before it leads
  bool expects_damage = false;             // of parts
  bool buries = true;                      // what is damaged, at once
  std::set<std::uint64_t> found_damaged;   // jobs
  std::set<std::uint64_t> keeps;           // jobs that nobody deletes
  std::set<std::uint64_t> without_bodies;  // jobs of records that had none

 private:
  void OnReplaying(const ReplayProgress&) override {}
  void OnFollowing(bool) override {}
  void OnActive() override;
  void OnServing() override;
  void OnSuspended(bool) override { suspended_ = true; }
  void OnResumed() override { suspended_ = false; }
  void OnOver(Status why, int exit_code) override;
  Status Apply(const Record& record) override;
  bool Capture(std::uint64_t id, const std::function<void(const Record&)>& emit) override;
  void CaptureSettings(const std::function<void(const Record&)>& emit) override;
  std::uint32_t BodyLeftOut(std::uint64_t id) const override;
  bool TakesBodiesLater() const override { return true; }
  bool RestsDamaged(std::uint64_t id) const override {
    return buries && found_damaged.contains(id);
  }
  std::vector<std::uint64_t> MissingBodies() const override;
  void OnBody(std::uint64_t id, const BodyRead& read) override;

  void Round();
  void Serve();
  void ReadBodies();
  void Acknowledge();
  Record PutRecord(std::uint64_t id) const;
  std::string BodyOf(std::uint64_t id) const;

  struct Waiting {
    Lsn lsn;
    std::uint64_t id;
    bool is_put;
  };

  Simulation& simulation_;
  FakeShard& shard_;
  Ledger& ledger_;
  const std::string name_;
  std::unique_ptr<ReplicatedJournal> journal_;
  std::set<std::uint64_t> jobs_, cold_;      // their bodies are in the store alone
  mutable std::set<std::uint64_t> missing_;  // needed before it leads
  std::uint64_t next_id_ = 1;
  bool serving_ = false, suspended_ = false, stopped_ = false;
  std::vector<std::function<void()>> kept_;  // came while it was stopped
  std::uint64_t life_ = 0;                   // counts starts
  std::uint64_t wake_ = 0;                   // number of the timer that is set
  std::vector<Waiting> waiting_;             // for the journal
  std::optional<int> exit_code_;
  std::string why_;
  mutable std::string body_;  // of the record that was made last
};

}  // namespace gearstalk
