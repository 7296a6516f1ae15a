#include "tests/simulation/ledger.h"

#include <algorithm>
#include <charconv>

namespace gearstalk::simulation {
namespace {

// A job is left for a sleeping worker that was woken for it: 100 ms, and a round's delay.
constexpr Time kPromise = 150 * kMillisecond;

std::string Name(const KnownJob& job) {
  return "job " + std::to_string(job.id) + " (" + std::to_string(job.token) + " in " + job.tube +
         ")";
}

}  // namespace

KnownJob& Ledger::Ask(KnownJob job) {
  job.token = jobs_.size() + 1;
  return jobs_.emplace_back(std::move(job));
}

// The token, and bytes that follow from it.
std::string Ledger::BodyOf(const KnownJob& job) {
  if (!job.body.empty()) return job.body;
  const std::string token = std::to_string(job.token);
  std::string body = token + " ";
  // Its group is what is at /g, the first line, and /u up to the colon.
  if (job.grouped) {
    body = job.group.empty() ? "\n{" : "{\"g\":\"" + job.group + "\"\n,";
    body += "\"u\":\"" + job.group + ":" + token + "\"\n,\"x\":\"#" + token + " ";
  }
  std::uint64_t next = job.token;
  while (body.size() < job.size) {
    next = next * 6364136223846793005U + 1442695040888963407U;
    const auto byte = static_cast<unsigned char>(next >> 56U);
    body += static_cast<char>(job.json ? 'a' + byte % 26 : byte);
  }
  if (job.json) body += "\"}";
  return body;
}

KnownJob* Ledger::OfBody(std::string_view body) {
  if (KnownJob* const job = Scheduled(body)) return job;
  std::uint64_t token = 0;
  const bool grouped = body.starts_with('{') || body.starts_with('\n');
  const std::string_view from =
      body.substr(grouped ? std::min(body.find('#'), body.size() - 1) + 1 : 0);
  std::from_chars(from.data(), from.data() + from.size(), token);
  if (token == 0 || token > jobs_.size()) {
    Fail("a body that nobody sent: " + std::string(body.substr(0, 40)));
    return nullptr;
  }
  KnownJob& job = jobs_[token - 1];
  if (body != BodyOf(job)) {
    Fail(Name(job) + " has another body than was sent");
    return nullptr;
  }
  return &job;
}

// nullptr: no schedule has it.
KnownJob* Ledger::Scheduled(std::string_view body) {
  if (!expect_ || !body.starts_with(kScheduled)) return nullptr;
  if (const auto found = scheduled_.find(body); found != scheduled_.end()) return found->second;
  std::optional<KnownJob> job = expect_(body);
  if (!job) return nullptr;
  job->body = body;
  job->touched = true;
  return scheduled_[std::string(body)] = &Ask(*std::move(job));
}

void Ledger::OnScheduled(std::string_view body, JobId id) {
  KnownJob* const job = OfBody(body);
  if (job == nullptr) return;
  if (job->id == 0) Learn(*job, id);
  job->there = true;
}

KnownJob* Ledger::OfId(JobId id) {
  const auto found = by_id_.find(id);
  return found == by_id_.end() ? nullptr : found->second;
}

void Ledger::OnPut(KnownJob& job, JobId id, JobId floor, Time now, bool stale) {
  if (job.id != 0 && job.id != id) Fail(Name(job) + " has another id: " + std::to_string(id));
  // What is lost at the end of a damaged log has ids that come again.
  if (id <= floor && !damaged_)
    Fail(Name(job) + ": its id does not rise above " + std::to_string(floor));
  if (!stale) CheckAdmitted(job);
  Learn(job, id);
  job.there = true;
  job.put = now;
  // A spare id, given out while the disk fails, says nothing of the ids that follow.
  if (id < kFirstSpareId) highest_id_ = std::max(highest_id_, id);
  if (stale || forgot_at_ == now) job.touched = true;
  const bool queued = !job.touched && job.not_before == 0 && Certain(job);
  if (queued && job.vanishes == kNever) queued_[job.tube][{job.priority, id}] = {&job, now};
}

void Ledger::Learn(KnownJob& job, JobId id) {
  KnownJob*& known = by_id_[id];
  if (known != nullptr && known != &job && !damaged_)
    Fail(Name(*known) + " and " + Name(job) + " have the same id");
  known = &job;
  job.id = id;
  JoinGroup(job);
}

void Ledger::OnRefused(KnownJob& job, bool honest) {
  job.ended = true;
  if (honest && !MayBeFull(job)) Fail(Name(job) + " was refused, and nothing forbids it");
}

void Ledger::OnPutAgain(const KnownJob& job, JobId id) {
  if (job.id != id && !damaged_)
    Fail(Name(job) + " was put again, and became job " + std::to_string(id));
}

KnownJob* Ledger::SomeRemembered(const std::string& tube, std::uint64_t lot) {
  if (jobs_.empty()) return nullptr;
  KnownJob& job = jobs_[lot % jobs_.size()];
  if (job.tube != tube || !job.durable || job.id == 0 || !by_id_.contains(job.id)) return nullptr;
  const bool there = Certain(job);
  return there || job.remembered ? &job : nullptr;
}

void Ledger::LeaveQueue(KnownJob& job) {
  job.touched = true;
  const auto tube = queued_.find(job.tube);
  if (tube != queued_.end()) tube->second.erase({job.priority, job.id});
}

// It was handed out between `least` and `most`.
void Ledger::CheckPause(const KnownJob& job, const HandOut& out, Time least, Time most) {
  const auto paused = paused_.find(job.tube);
  if (paused == paused_.end() || out.watched == nullptr || out.stale || clocks_differ_) return;
  const Pause& pause = paused->second;
  if (pause.until == kNever || least <= pause.from || most >= pause.until) return;
  if (pause.tube != out.tube) return;
  Fail(Name(job) + " was handed out while its tube is paused");
}

// Notes jobs that had to be handed out before this one. Whether somebody has them shows later.
void Ledger::CheckPlace(const KnownJob& job, const HandOut& out, Time now) {
  if (!ordered_ || out.watched == nullptr || out.stale) return;
  for (const std::string& tube : *out.watched) {
    const auto queue = queued_.find(tube);
    if (queue == queued_.end() || queue->second.empty() || paused_.contains(tube)) continue;
    const auto& [place, known] = *queue->second.begin();
    const auto groups = group_plans_.find(tube);
    const bool turns = groups != group_plans_.end() && groups->second.turns;
    const bool urgent = turns ? place.first < job.priority : place < Place{job.priority, job.id};
    const bool before = known.second + kPromise < now && urgent;
    if (before) passed_.push_back({known.first, Name(job)});
  }
}

void Ledger::CheckRunning(const KnownJob& job, Time taken, Time now) {
  const auto limit = most_running_.find(job.tube);
  if (limit == most_running_.end() || taken <= limit->second.second) return;
  std::size_t running = 0;
  for (const KnownJob& each : jobs_) {
    if (IsHeld(each, now) && each.tube == job.tube) ++running;
  }
  if (running > limit->second.first) {
    Fail(std::to_string(running) + " jobs of " + job.tube + " run at once");
  }
}

void Ledger::OnHandedOut(KnownJob& job, const HandOut& out, Time taken, Time now) {
  // What was shown is on disk.
  if (job.durable) job.there = true;
  job.told = now;
  CheckTurn(job, out, taken);
  if (out.stale) {
    LeaveQueue(job);
    job.not_before = 0;  // a reserve by its id takes a delayed job, and its TTR ends in the queue
    job.holder = nullptr;
    return;
  }
  if (job.ended && !damaged_) {
    Fail(Name(job) + " was handed out after its end");
  }
  if (job.away && !damaged_) Fail(Name(job) + " was handed out while a transfer holds it");
  const Time least = std::max(taken, out.asked);
  const Time most = std::min(taken + kSecond, now);
  if (most < job.not_before && !clocks_differ_ && out.watched != nullptr && !damaged_)
    Fail(Name(job) + " was handed out before its delay had passed");
  if (job.holder != nullptr && job.holder != out.holder && now < job.held_until) {
    Fail(Name(job) + " was handed out while somebody else held it");
  }
  if (least > job.expires && !damaged_ && !clocks_differ_ && out.watched != nullptr)
    Fail(Name(job) + " was handed out after it had expired");
  CheckPause(job, out, least, most);
  const bool in_place = !job.touched;
  LeaveQueue(job);
  if (in_place) CheckPlace(job, out, now);
  job.not_before = 0;
  job.holder = taken == 0 ? nullptr : out.holder;
  job.taken = taken;
  const std::uint32_t ttr_s = job.ttr_s == 0 ? out.default_ttr_s : job.ttr_s;
  job.held_until = ttr_s == 0 ? kNever : least + Least(Time{ttr_s} * kSecond);
  CheckRunning(job, taken, now);
  CheckGroup(job, out, taken, now);
  const auto tries = most_tries_.find(job.tube);
  if (tries != most_tries_.end() && ++job.hand_outs > tries->second && burials_kept_)
    Fail(Name(job) + " was handed out too often");
}

void Ledger::OnTouched(KnownJob& job, const void* holder, Time asked) {
  if (job.holder != holder || job.holder == nullptr || job.ttr_s == 0) return;
  job.held_until = std::max(job.held_until, asked + Least(Time{job.ttr_s} * kSecond));
}

void Ledger::OnReleased(KnownJob& job, std::uint32_t priority, Time not_before, Time asked) {
  Stir(job);
  if (job.told > asked) return;
  job.priority = priority;
  job.not_before = MayBeKicked(job.tube, asked) ? 0 : not_before;
}

void Ledger::OnEndAsked(KnownJob& job) {
  LeaveQueue(job);
  Stir(job);
  ++job.end_asks;
  job.buried = kNever;
}

void Ledger::OnLendAsked(KnownJob& job) {
  OnEndAsked(job);
  ++job.lent;
}

// It comes to its place, and others of its group may have left meanwhile.
void Ledger::OnGivenBack(KnownJob& job) {
  job.away = false;
  job.aside = true;
}

void Ledger::OnStayed(KnownJob& job) {
  --job.end_asks;
  --job.lent;
  job.away = false;
  job.put = time_;
  Stir(job);
}

void Ledger::VisitTube(const std::string& tube, const std::function<void(KnownJob&)>& visit) {
  for (KnownJob& job : jobs_) {
    if (job.tube == tube && !job.ended) visit(job);
  }
}

void Ledger::OnEnded(KnownJob& job) {
  if (job.deleted && !damaged_) Fail(Name(job) + " ended twice");
  job.ended = job.deleted = true;
  job.holder = nullptr;
  Stir(job);
}

void Ledger::Forget(const void* holder, Time now) {
  forgot_at_ = now;
  for (KnownJob& job : jobs_) {
    if (job.holder == holder) job.holder = nullptr;
  }
  // Its replies are lost: who has which job is not known for a while.
  for (auto& [tube, queue] : queued_) {
    for (auto& [place, known] : queue) known.first->touched = true;
    queue.clear();
  }
}

void Ledger::OnDiskFailure() {
  burials_kept_ = false;
  for (KnownJob& job : jobs_) job.buried = kNever;
}

void Ledger::OnKickAsked(const std::string& tube) {
  ++kicks_[tube].asks;
  for (KnownJob& job : jobs_) {
    if (job.tube != tube) continue;
    job.not_before = 0;
    job.buried = kNever;
  }
}

bool Ledger::MayBeKicked(const std::string& tube, Time since) const {
  const auto kicks = kicks_.find(tube);
  return kicks != kicks_.end() && (kicks->second.asks > 0 || kicks->second.answered >= since);
}

void Ledger::OnPauseAsked(const std::string& tube, std::uint64_t number) {
  Pause& pause = paused_[tube];
  pause.tube = number;
  pause.until = kNever;
  pause.alone = pause.asks++ == 0;
}

void Ledger::OnPauseAnswered(const std::string& tube, std::uint64_t number, Time from, Time until) {
  Pause& pause = paused_[tube];
  if (--pause.asks > 0 || !pause.alone || until == 0 || pause.tube != number) return;
  pause.from = from;
  pause.until = until;
}

void Ledger::OnNamed(JobId id) {
  KnownJob* const job = OfId(id);
  if (job == nullptr) return;
  LeaveQueue(*job);
  job->told = time_;
  job->not_before = 0;
  job->buried = kNever;
}

void Ledger::OnRestart(bool kept) {
  for (auto& [tube, queue] : queued_) {
    for (auto& [place, known] : queue) known.first->touched = true;
  }
  queued_.clear();
  passed_.clear();
  line_ends_.clear();
  burials_kept_ = true;
  for (auto& [tube, pause] : paused_) pause = {};
  kicks_.clear();
  for (auto& [name, group] : groups_) {
    group.taken.clear();
    if (!kept) group.jobs.clear();
  }
  for (KnownJob& job : jobs_) {
    job.holder = nullptr;
    job.touched = true;
    job.hand_outs = 0;
    if (!kept) job.remembered = false;
    if (!kept || !job.durable) job.ended = job.deleted = true;
    if (!kept) by_id_.erase(job.id);
  }
  if (kept) return;
  highest_id_ = 0;
  scheduled_.clear();
}

void Ledger::CheckOrder(bool nothing_unsent) {
  for (const Passed& each : passed_) {
    const KnownJob& job = *each.job;
    if (!nothing_unsent || job.touched || !Certain(job)) continue;
    if (each.turn > 0 && !Waited(job, each.turn)) continue;
    Fail(each.by + " was handed out before " + Name(job) +
         (each.turn > 0 ? ", whose group has waited for its turn" : ", which is more urgent"));
  }
  passed_.clear();
}

void Ledger::Compare(const Engine& engine, Time now) {
  std::set<std::uint64_t> seen;
  std::size_t nameless = 0;  // an import tells no ids, and their bodies are on the disk alone
  for (const gearstalk::Job* job = engine.NextJob(0); job != nullptr;
       job = engine.NextJob(job->id())) {
    // A body that lies on the disk alone is looked at when the job is handed out.
    KnownJob* const known = job->has_body() ? OfBody(job->body()) : OfId(job->id());
    if (known == nullptr && !job->has_body()) {
      ++nameless;
      continue;
    }
    if (known == nullptr) return;
    if (!seen.insert(known->token).second && !MayComeAgain(*known))
      Fail(Name(*known) + " is there twice");
    if (known->ended && !damaged_) Fail(Name(*known) + " is back after its end");
    if (known->id != 0 && known->id != job->id() && !MayComeAgain(*known))
      Fail(Name(*known) + " has another id");
  }
  if (damaged_) return;
  for (const KnownJob& job : jobs_) {
    const bool stays = job.vanishes == kNever || (!clocks_differ_ && now < job.vanishes);
    if (!Certain(job) || !stays || seen.contains(job.token)) continue;
    if (job.id != 0 || nameless == 0) return Fail(Name(job) + " is lost");
    --nameless;
  }
}

std::size_t Ledger::certain() const {
  std::size_t count = 0;
  for (const KnownJob& job : jobs_) {
    if (Certain(job)) ++count;
  }
  return count;
}

}  // namespace gearstalk::simulation
