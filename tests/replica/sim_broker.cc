#include "tests/replica/sim_broker.h"

#include <algorithm>

namespace gearstalk {

SimBroker::SimBroker(Simulation& simulation, FakeShard& shard, Ledger& ledger, std::string name)
    : simulation_(simulation), shard_(shard), ledger_(ledger), name_(std::move(name)) {
  link.deliver = [this](std::function<void()> what) {
    if (stopped_) {
      kept_.push_back(std::move(what));
    } else {
      what();
      Round();
    }
  };
}

void SimBroker::Start() {
  ++life_;
  jobs_.clear();
  cold_.clear();
  waiting_.clear();
  kept_.clear();
  next_id_ = 1;
  serving_ = suspended_ = stopped_ = false;
  exit_code_.reset();
  ReplicaOptions options;
  options.name = options.address = name_;
  options.server_name = "gearstalkd";
  options.lease = lease;
  options.max_bytes = max_bytes;
  options.boot = options.wall = [this] { return simulation_.now; };
  options.random = [this] { return simulation_.random(); };
  journal_ = std::make_unique<ReplicatedJournal>(
      options, std::make_unique<FakeStore>(simulation_, shard_, link));
  journal_->SetOnDurable([this](Lsn) { Acknowledge(); });
  if (!journal_->Start(*this, *this).ok()) ledger_.Fault("start");
  Round();
}

void SimBroker::Kill() {
  ++life_;
  stopped_ = false;
  kept_.clear();
  journal_.reset();
}

void SimBroker::Stop() { stopped_ = true; }

void SimBroker::Continue() {
  stopped_ = false;
  for (auto& what : std::exchange(kept_, {})) what();
  Round();
}

void SimBroker::Leave() {
  if (journal_ == nullptr) return;
  serving_ = false;
  journal_->Leave([this] { exit_code_ = 0; });
  Round();
}

// A round of the loop. The next one comes when the journal wants it, or something arrives.
void SimBroker::Round() {
  if (stopped_ || journal_ == nullptr || exit_code_) {
    if (exit_code_) journal_.reset();
    return;
  }
  const Time next = journal_->Tick(simulation_.now);
  if (!exit_code_ && serving_ && !suspended_) Serve();
  if (!exit_code_) journal_->Flush(simulation_.now);
  if (exit_code_) {
    // Not from within its own calls.
    simulation_.After(0, [this, life = life_] {
      if (life == life_ && exit_code_) journal_.reset();
    });
    return;
  }
  if (next == kNever) return;
  simulation_.At(std::max(next, simulation_.now + 100 * kMicrosecond),
                 [this, life = life_, wake = ++wake_] {
                   if (life != life_ || wake != wake_) return;
                   if (stopped_) {
                     kept_.push_back([] {});
                   } else {
                     Round();
                   }
                 });
}

// Clients: a round puts some jobs, which belong together, and deletes some.
void SimBroker::Serve() {
  if (!journal_->MayServe() || journal_->WaitingBytes() > 64 * 1024) return;
  if (simulation_.Chance(put_percent) && journal_->Accepts(Record::Kind::kPut)) {
    const std::uint64_t jobs = 1 + simulation_.Below(4), first = next_id_;
    for (; next_id_ < first + jobs; ++next_id_) {
      jobs_.insert(next_id_);
      if (!ledger_.group.emplace(next_id_, first).second) {
        // Asked for before, and not acknowledged: the id was lost with its broker.
        if (ledger_.put.contains(next_id_)) ledger_.Fault("doubled " + std::to_string(next_id_));
        ledger_.group[next_id_] = first;
      }
      ledger_.ending.erase(next_id_);
      waiting_.push_back({journal_->Append(PutRecord(next_id_)), next_id_, true});
    }
  }
  if (!jobs_.empty() && simulation_.Chance(delete_percent) &&
      journal_->Accepts(Record::Kind::kDelete)) {
    auto at = jobs_.lower_bound(1 + simulation_.Below(next_id_));
    if (at == jobs_.end()) at = jobs_.begin();
    Record record;
    record.kind = Record::Kind::kDelete;
    record.id = *at;
    ledger_.ending.insert(*at);
    waiting_.push_back({journal_->Append(record), *at, false});
    cold_.erase(*at);
    jobs_.erase(at);
  }
  ReadBodies();
}

void SimBroker::ReadBodies() {
  if (cold_.empty() || !simulation_.Chance(30)) return;
  auto at = cold_.lower_bound(1 + simulation_.Below(next_id_));
  if (at == cold_.end()) at = cold_.begin();
  const bool soon = simulation_.Chance(50);
  for (std::uint64_t left = 1 + simulation_.Below(5); left > 0 && at != cold_.end(); --left) {
    journal_->Fetch(*at++, soon ? BodyUse::kReply : BodyUse::kQuery);
  }
}

void SimBroker::OnBody(std::uint64_t id, const BodyRead& read) {
  if (read.result == BodyRead::Result::kDamaged) {
    ledger_.Fault("damaged: " + std::string(read.problem));
  }
  if (read.result != BodyRead::Result::kWhole) return;
  ++bodies_read;
  if (serving_ && !journal_->MayServe()) ledger_.Fault("a body while it may not serve");
  if (read.body != BodyOf(id)) ledger_.Fault("the body of another job: " + std::to_string(id));
}

std::uint32_t SimBroker::BodyLeftOut(std::uint64_t id) const {
  return cold_.contains(id) ? static_cast<std::uint32_t>(BodyOf(id).size()) : 0;
}

// Replies leave only while it may serve.
void SimBroker::Acknowledge() {
  if (link.appends > ++batches) ++followed;
  if (!journal_->MayServe()) return;
  const Lsn durable = journal_->Durable();
  for (const Waiting& each : waiting_) {
    if (each.lsn > durable) continue;
    (each.is_put ? ledger_.put : ledger_.deleted).insert(each.id);
    if (each.is_put && shard_.keeps_bodies && jobs_.contains(each.id)) cold_.insert(each.id);
  }
  std::erase_if(waiting_, [&](const Waiting& each) { return each.lsn <= durable; });
}

// Its first batch is durable, so it leads: what it knows is what every client was told. Before, a
// broker that was stopped may find an old state whole, and be fenced at its first append.
void SimBroker::OnServing() {
  serving_ = true;
  for (const std::uint64_t id : ledger_.put) {
    if (!ledger_.ending.contains(id) && !jobs_.contains(id)) {
      ledger_.Fault("lost " + std::to_string(id) + " at " + name_);
    }
  }
  for (const std::uint64_t id : jobs_) {
    if (ledger_.deleted.contains(id)) ledger_.Fault("resurrected " + std::to_string(id));
    for (std::uint64_t mate = ledger_.group[id]; mate < id; ++mate) {
      if (ledger_.group[mate] == ledger_.group[id] && !jobs_.contains(mate) &&
          !ledger_.ending.contains(mate)) {
        ledger_.Fault("half a round: " + std::to_string(id));
      }
    }
  }
}

void SimBroker::OnActive() {
  if (!ends_pauses) return;
  Record record;
  record.kind = Record::Kind::kTube;
  record.tube = "paused";
  journal_->Append(record);
}

void SimBroker::OnOver(Status why, int exit_code) {
  if (exit_code != 3) ledger_.Fault(name_ + " ended: " + why.message());
  why_ = why.message();
  exit_code_ = exit_code;
  serving_ = false;
}

Status SimBroker::Apply(const Record& record) {
  if (record.kind == Record::Kind::kPut) {
    jobs_.insert(record.id);
    const bool is_cold = record.body_left_out > 0;
    if (is_cold) cold_.insert(record.id);
    const std::size_t size = is_cold ? record.body_left_out : record.body.size();
    if (is_cold != shard_.keeps_bodies || (is_cold && size != BodyOf(record.id).size())) {
      ledger_.Fault("the record of " + std::to_string(record.id) + " has another body");
    }
    next_id_ = std::max(next_id_, record.id + 1);
  }
  if (record.kind == Record::Kind::kDelete) {
    jobs_.erase(record.id);
    cold_.erase(record.id);
  }
  if (record.kind == Record::Kind::kNextId) next_id_ = std::max(next_id_, record.id);
  return {};
}

Record SimBroker::PutRecord(std::uint64_t id) const {
  Record record;
  record.kind = Record::Kind::kPut;
  record.id = id;
  record.tube = "t";
  body_ = BodyOf(id);
  record.body = body_;
  return record;
}

std::string SimBroker::BodyOf(std::uint64_t id) const {
  if (!shard_.keeps_bodies) return std::string(body_size, 'b');
  return std::to_string(id) + std::string(kLeastLeftOut + id % 400, 'b');
}

bool SimBroker::Capture(std::uint64_t id, const std::function<void(const Record&)>& emit) {
  if (!jobs_.contains(id)) return false;
  Record record = PutRecord(id);
  record.body_left_out = BodyLeftOut(id);
  if (record.body_left_out > 0) record.body = {};
  emit(record);
  return true;
}

void SimBroker::CaptureSettings(const std::function<void(const Record&)>& emit) {
  Record record;
  record.kind = Record::Kind::kNextId;
  record.id = next_id_;
  emit(record);
  for (int i = 0; i < tubes; ++i) {
    Record tube;
    tube.kind = Record::Kind::kTube;
    const std::string name = std::string(190, 't') + std::to_string(i);
    tube.tube = name;
    tube.settings.pause_until = kSecond;
    emit(tube);
  }
}

}  // namespace gearstalk
