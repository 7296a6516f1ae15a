#include "broker/postgres/postgres_store.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "broker/base/log.h"
#include "broker/replica/follower.h"

namespace gearstalk::postgres {
namespace {

constexpr Time kNotifyPause = 50 * kMillisecond;  // between notifications of appends
constexpr Time kFactsPause = 10 * kSecond;
constexpr std::uint64_t kPartitionBytes = 256 << 20;
constexpr std::uint64_t kUsualPart = 64 << 10;  // bytes, when no part is there to measure
constexpr std::uint64_t kLeastWidth = 64, kMostWidth = 65'536;  // parts of a partition
constexpr int kMostRooms = 8;  // another broker may make partitions at the same time
constexpr std::uint64_t kNoEpoch = std::numeric_limits<std::int64_t>::max();
constexpr char kNoPartition[] = "23514";
constexpr char kOverlaps[] = "42P17";
constexpr char kAttached[] = "42809";  // the partition is there: an earlier try worked
constexpr char kDiskFull[] = "53100";
constexpr char kMayNot[] = "42501";

StoreResult Full(const Reply& reply) {
  return {StoreAnswer::kFull, {Code::kJournal, reply.message}};
}

std::string TwoPrimaries(const std::vector<std::string>& primaries) {
  return fmt::format(
      "two servers are primary, {}: stop the one with the lower timeline, which was primary before "
      "the promotion",
      fmt::join(primaries, " and "));
}

}  // namespace

PostgresStore::PostgresStore(PostgresOptions options, std::vector<Host> hosts,
                             std::uint64_t max_bytes, std::function<Time()> boot)
    : options_(std::move(options)),
      statements_(options_.schema),
      max_bytes_(max_bytes),
      boot_(boot),
      caller_(options_, std::move(hosts), std::move(boot)) {}

// Beats, acquires and looks.
CallPlan PostgresStore::Quick(Statement statement, std::string answers) const {
  return {.statement = std::move(statement),
          .hedge = QuickHedge(options_.lease),
          .answers = std::move(answers)};
}

CallPlan PostgresStore::Slow(Statement statement, std::string answers) const {
  return {.statement = std::move(statement),
          .hedge = SlowHedge(options_.lease),
          .answers = std::move(answers)};
}

std::uint64_t PostgresStore::EpochOf(Revision fence) const {
  return fence != 0 && fence == fence_ ? epoch_ : kNoEpoch;
}

StoreResult PostgresStore::Missing() const {
  return FailedWith(KeyIsMissing("the row of " + options_.schema + ".shard", Words()));
}

StoreResult PostgresStore::OlderState(std::uint64_t last) const {
  return FailedWith(
      {Code::kCorrupt,
       fmt::format("PostgreSQL has an older state than it confirmed: the parts {} to {} are "
                   "missing; restore the server that has them (docs/replication.md)",
                   PartName(last + 1), PartName(confirmed_))});
}

// Of a part that a server had, and that the one in use has not.
StoreResult PostgresStore::Lost(std::uint64_t seq, std::uint64_t last) const {
  if (seq <= confirmed_) return OlderState(std::min(last, seq - 1));
  return FailedWith({Code::kJournal, PartName(seq) + " was read and is lost: the server that had "
                                                     "it is primary no more"});
}

void PostgresStore::OnNotify() {
  caller_.OnNotify();
  AdvanceOpen();
  if (caller_.TakeNotification()) watch_.again = 0;
  Poll(boot_());
}

Time PostgresStore::Tick(Time now) {
  const Time next = caller_.Tick(now);
  AdvanceOpen();
  Poll(now);
  ConfirmSeen(now);
  AskFacts(now);
  if (watch_.watcher == nullptr) return next;
  return std::min(next, polling_ ? kNever : std::max(watch_.again, now));
}

// --- the beginning

void PostgresStore::AdvanceOpen() {
  if (open_done_ == nullptr || !caller_.opened()) return;
  const Done done = std::exchange(open_done_, nullptr);
  const Status& fault = caller_.fault();
  done(fault.ok() ? StoreResult{} : FailedWith(fault));
}

// Two sessions of a pooler that gives each transaction another one of the server would share their
// settings, locks and notifications.
void PostgresStore::CheckPooler(const Done& done) {
  const std::int64_t key = boot_();
  const auto judge = [this, done](std::uint64_t server, const CallAnswer& tried) {
    if (!tried.result.done()) return done(tried.result);
    // Unlike pg_advisory_unlock it does not warn when a new session has no lock.
    caller_.Call(LaneOf::kBeats, Quick({"select pg_advisory_unlock_all()::text", {}}),
                 [](const CallAnswer&) {});
    if (!tried.reply.rows.Flag(0, 0)) return done({});
    if (tried.server != server) return CheckPooler(done);  // the lock went with its session
    done(FailedWith(
        {Code::kInvalid,
         "postgres.conninfo: a pooler in between gives a session to several clients: set "
         "pool_mode = session, or connect to the servers directly"}));
  };
  caller_.Call(
      LaneOf::kBeats, Quick({"select pg_advisory_lock($1::bigint)::text", {key}}),
      [this, key, done, judge](const CallAnswer& locked) {
        if (!locked.result.done()) return done(locked.result);
        caller_.Call(
            LaneOf::kReads, Quick({"select pg_try_advisory_lock($1::bigint)", {key}}),
            [judge, server = locked.server](const CallAnswer& tried) { judge(server, tried); });
      });
}

void PostgresStore::AskFacts(Time now) {
  // Not beside the check for a pooler, whose second session must meet the first one.
  if (now < ask_facts_ || asking_facts_ || caller_.primary().empty() || !pooler_checked_) return;
  ask_facts_ = now + kFactsPause;
  asking_facts_ = true;
  caller_.Call(LaneOf::kReads, Slow(postgres::AskFacts()), [this](const CallAnswer& answer) {
    asking_facts_ = false;
    if (answer.result.done()) NoteFacts(ReadFacts(answer.reply.rows));
  });
  if (caller_.hosts() == 1) return;
  caller_.AskPrimaries([this](const std::vector<std::string>& primaries) {
    if (primaries.size() > 1 && primaries_ < 2) {
      Log(LogLevel::kError, TwoPrimaries(primaries));
    }
    primaries_ = primaries.size();
  });
}

// Logs what a server says of itself, and what has changed about its standbys.
void PostgresStore::NoteFacts(const Facts& facts) {
  caller_.SetFacts(facts);
  // Settings change with a reload of the server, too.
  if (const std::string unsafe = caller_.Unsafe(); !unsafe.empty()) Log(LogLevel::kError, unsafe);
  const StoreServer& server = facts.server;
  const std::string standbys =
      server.standbys_known
          ? fmt::format("{}", fmt::join(server.standbys, ", "))
          : fmt::format("not known to this role; synchronous_standby_names is '{}'",
                        server.synchronous_standby_names);
  const bool other = std::exchange(told_of_, caller_.server()) != caller_.server();
  if (!other && standbys == told_standbys_) return;
  told_standbys_ = standbys;
  Log(LogLevel::kInfo, "the journal is in PostgreSQL",
      {{"primary", caller_.primary()},
       {"version", server.version},
       {"synchronous_commit", server.synchronous_commit},
       {"fsync", server.fsync},
       {"full_page_writes", server.full_page_writes},
       {"synchronous_standbys", standbys}});
  if (server.standbys.empty() && server.standbys_known) {
    Log(LogLevel::kWarning,
        "no standby of PostgreSQL confirms commits: the journal survives what this one server "
        "survives");
  }
  if (server.full_page_writes == "off") {
    Log(LogLevel::kWarning, "full_page_writes is off: a power loss may damage the journal");
  }
  if (server.synchronous_commit == "remote_write") {
    Log(LogLevel::kWarning,
        "synchronous_commit is remote_write: standbys confirm what is not on their disks");
  }
}

// Every start begins with a look.
void PostgresStore::Look(LookDone done) {
  if (pooler_checked_) return SendLook(std::move(done));
  CheckPooler([this, done = std::move(done)](const StoreResult& checked) {
    if (!checked.done()) return done(checked, {});
    pooler_checked_ = true;
    SendLook(done);
  });
}

void PostgresStore::SendLook(LookDone done) {
  caller_.Call(LaneOf::kBeats, Quick(statements_.Look(), kNoTable),
               [this, done = std::move(done), known = confirmed_](const CallAnswer& answer) {
                 if (!answer.result.done()) return done(answer.result, {});
                 const LogView view = ReadShardRow(answer.reply.rows).view;
                 has_tables_ = answer.reply.ok() && !answer.reply.rows.empty();
                 if (view.meta_at != 0) caller_.Settle();
                 looked_last_ = std::max(looked_last_, view.last);
                 if (view.last < known) return done(OlderState(view.last), view);
                 done({}, view);
               });
}

void PostgresStore::MakeTables(const Done& done) {
  caller_.Call(LaneOf::kBeats, Quick(statements_.HasSchema()),
               [this, done](const CallAnswer& answer) {
                 if (!answer.result.done()) return done(answer.result);
                 const bool has_schema = answer.reply.rows.Flag(0, 0);
                 caller_.Call(LaneOf::kBeats, Slow(statements_.MakeTables(!has_schema), kDiskFull),
                              [this, done](const CallAnswer& made) {
                                has_tables_ = made.result.done() && made.reply.ok();
                                if (!made.result.done()) return done(made.result);
                                done(made.reply.ok() ? StoreResult{} : Full(made.reply));
                              });
               });
}

void PostgresStore::Found(const ShardMeta& meta, Done done) {
  WriteMeta(statements_.Found(meta), std::move(done));
}

void PostgresStore::ReplaceMeta(Revision seen, const ShardMeta& meta, Done done) {
  WriteMeta(statements_.ReplaceMeta(seen, meta), std::move(done));
}

void PostgresStore::WriteMeta(Statement statement, Done done) {
  const auto write = [this, statement = std::move(statement),
                      done = std::move(done)](const StoreResult& made) {
    if (!made.done()) return done(made);
    caller_.Call(LaneOf::kBeats, Quick(statement, kDiskFull), [done](const CallAnswer& answer) {
      if (!answer.result.done()) return done(answer.result);
      if (!answer.reply.ok()) return done(Full(answer.reply));
      done(answer.reply.rows.empty() ? Fenced() : StoreResult{});
    });
  };
  has_tables_ ? write({}) : MakeTables(write);
}

void PostgresStore::Announce(const Reign& standby, Done done) {
  caller_.Call(LaneOf::kReads,
               Slow(statements_.Announce(standby), fmt::format("{} {}", kDiskFull, kMayNot)),
               [done = std::move(done)](const CallAnswer& answer) {
                 if (!answer.result.done()) return done(answer.result);
                 const Reply& reply = answer.reply;
                 if (reply.ok()) return done({});
                 if (reply.state == kDiskFull) return done(Full(reply));
                 done({StoreAnswer::kRefused, {Code::kJournal, "PostgreSQL: " + reply.message}});
               });
}

// --- leading

void PostgresStore::Acquire(const LogView& seen, const Reign& reign, AcquireDone done) {
  const auto survey = [this, acquiring =
                                 Acquiring{seen, reign, std::move(done)}](const StoreResult& made) {
    made.done() ? Survey(acquiring) : acquiring.done(made, {});
  };
  has_tables_ ? survey({}) : MakeTables(survey);
}

// With another server in use meanwhile, all hosts are asked again.
void PostgresStore::Survey(Acquiring acquiring) {
  acquiring.place = caller_.place();
  caller_.AskPrimaries([this, acquiring](const std::vector<std::string>& primaries) {
    primaries_ = primaries.size();
    const std::string unsafe = caller_.Unsafe();
    if (primaries.size() < 2 && unsafe.empty()) return SendAcquire(acquiring);
    const std::string why = unsafe.empty() ? TwoPrimaries(primaries) : unsafe;
    acquiring.done({StoreAnswer::kRefused, {Code::kJournal, why}}, {});
  });
}

void PostgresStore::SendAcquire(const Acquiring& acquiring) {
  const Reign& reign = acquiring.reign;
  caller_.SetName(SessionName(options_.schema, reign.epoch));
  caller_.WarmAppends();
  CallPlan plan = Quick(statements_.Acquire(acquiring.seen, reign, seen_), kDiskFull);
  plan.place = acquiring.place;
  plan.on_silent = [this, seen = acquiring.seen.leader.epoch,
                    epoch = reign.epoch](std::int64_t pid) { EndBlockers(pid, seen, epoch); };
  caller_.Call(LaneOf::kBeats, std::move(plan), [this, acquiring](const CallAnswer& answer) {
    Acquiring sent = acquiring;
    if (sent.sent == 0) sent.sent = answer.first_sent;
    if (answer.moved) return Survey(std::move(sent));
    if (!answer.result.done()) return sent.done(answer.result, {});
    if (!answer.reply.ok()) return sent.done(Full(answer.reply), {});
    LookForAcquire(sent);
  });
}

// If nothing was written, the shard has changed, or an earlier try had worked.
void PostgresStore::LookForAcquire(const Acquiring& acquiring) {
  CallPlan plan = Quick(statements_.Confirm(seen_.seq, seen_.bytes));
  plan.place = acquiring.place;
  caller_.Call(LaneOf::kBeats, std::move(plan), [this, acquiring](const CallAnswer& look) {
    if (look.moved) return Survey(acquiring);
    if (!look.result.done()) return acquiring.done(look.result, {});
    JudgeAcquire(acquiring, look);
  });
}

void PostgresStore::JudgeAcquire(const Acquiring& acquiring, const CallAnswer& answer) {
  const ShardRow row = ReadShardRow(answer.reply.rows);
  if (!IsSameReign(row.view.leader, acquiring.reign)) {
    caller_.SetName(SessionName(options_.schema, 0));
    return acquiring.done(Fenced(), {});
  }
  fence_ = row.view.leader_at;
  epoch_ = row.epoch;
  last_ = confirmed_ = row.view.last;
  oldest_ = row.view.oldest;
  room_to_ = 0;
  MakeRoom([](const StoreResult&) {});
  acquiring.done({}, {fence_, row.view.last, row.view.oldest, acquiring.sent, row.view.at});
}

// A client that stopped in the middle of a statement holds the row, and no timeout of the server
// ends it.
void PostgresStore::EndBlockers(std::int64_t pid, std::uint64_t seen, std::uint64_t epoch) {
  if (std::exchange(ending_blockers_, true)) return;
  const std::vector<std::string> names = {SessionName(options_.schema, seen),
                                          SessionName(options_.schema, epoch)};
  caller_.Call(LaneOf::kReads, Slow(Statements::Terminate(pid, caller_.Pids(), names), kMayNot),
               [this](const CallAnswer& answer) {
                 ending_blockers_ = false;
                 const Rows& rows = answer.reply.rows;
                 if (rows.empty() || rows.Number(0, 0) == 0) return;
                 Log(LogLevel::kWarning,
                     "ended sessions of the last leader that blocked the acquire",
                     {{"sessions", rows.Unsigned(0, 0)}});
               });
}

void PostgresStore::Append(Revision fence, std::uint64_t seq, const std::string& bytes,
                           std::uint64_t oldest, Done done) {
  SendAppend({EpochOf(fence), seq, oldest, &bytes, std::move(done)});
}

void PostgresStore::SendAppend(const Appending& append) {
  if (making_room_ && append.seq >= room_to_) {
    room_awaited_.push_back(WithRoom(append));
    return;
  }
  const Time now = boot_();
  const bool notify = now >= notify_after_;
  if (notify) notify_after_ = now + kNotifyPause;
  const auto oldest = append.oldest == oldest_ ? std::nullopt : std::optional(append.oldest);
  CallPlan plan = Slow(statements_.Append(append.epoch, append.seq, *append.bytes, oldest, notify),
                       fmt::format("{} {}", kNoPartition, kDiskFull));
  plan.append = true;
  caller_.Call(LaneOf::kAppends, std::move(plan),
               [this, append](const CallAnswer& answer) { OnAppend(append, answer); });
}

void PostgresStore::OnAppend(const Appending& append, const CallAnswer& answer) {
  if (!answer.result.done()) return append.done(answer.result);
  const std::string& state = answer.reply.state;
  if (state == kDiskFull) return append.done(Full(answer.reply));
  if (state == kNoPartition) {
    if (append.rooms == kMostRooms) {
      return append.done(Foreign("no partition takes " + PartName(append.seq)));
    }
    Appending again = append;
    ++again.rooms;
    return MakeRoom(WithRoom(again));
  }
  if (answer.reply.rows.empty()) return LookForAppend(append);
  OnAppended(append);
}

// What an append does when there is a partition for it, or no space to make one.
PostgresStore::Done PostgresStore::WithRoom(const Appending& append) {
  return [this, append](const StoreResult& room) {
    room.done() ? SendAppend(append) : append.done(room);
  };
}

// Nothing was written: another broker leads, or an earlier try of the same bytes had worked.
void PostgresStore::LookForAppend(const Appending& append) {
  caller_.Call(LaneOf::kAppends, Slow(statements_.Confirm(append.seq, *append.bytes)),
               [this, append](const CallAnswer& answer) {
                 if (!answer.result.done()) return append.done(answer.result);
                 const Rows& rows = answer.reply.rows;
                 if (rows.empty()) return append.done(Missing());
                 const ShardRow row = ReadShardRow(rows);
                 if (row.epoch != append.epoch) return append.done(Fenced());
                 const std::uint64_t last = row.view.last;
                 if (last >= append.seq && rows.Flag(0, kShardColumns)) return OnAppended(append);
                 if (last < confirmed_) return append.done(OlderState(last));
                 if (last + 1 == append.seq) return SendAppend(append);
                 append.done(Foreign(
                     fmt::format("its last part is {}, before {}", last, PartName(append.seq))));
               });
}

StoreResult PostgresStore::Foreign(const std::string& what) const {
  return FailedWith({Code::kCorrupt, fmt::format("the tables in {} were written by something that "
                                                 "is no gearstalkd: {}",
                                                 options_.schema, what)});
}

void PostgresStore::OnAppended(const Appending& append) {
  last_ = confirmed_ = append.seq;
  oldest_ = append.oldest;
  if (room_to_ != 0 && append.seq + width_ / 2 >= room_to_) MakeRoom([](const StoreResult&) {});
  append.done({});
}

void PostgresStore::Beat(Revision fence, std::uint64_t epoch, BeatDone done) {
  caller_.Call(
      LaneOf::kBeats, Quick(statements_.Beat(EpochOf(fence))),
      [this, fence, epoch, done = std::move(done), known = confirmed_](const CallAnswer& answer) {
        if (!answer.result.done()) return done(answer.result, 0);
        const Rows& rows = answer.reply.rows;
        if (rows.empty()) return LookForBeat(fence, epoch, done);
        const std::uint64_t last = rows.Unsigned(0, 0);
        if (last < known) return done(OlderState(last), 0);
        done({}, answer.sent);
      });
}

void PostgresStore::LookForBeat(Revision fence, std::uint64_t epoch, BeatDone done) {
  caller_.Call(
      LaneOf::kBeats, Quick(statements_.Look()),
      [this, fence, epoch, done = std::move(done), known = confirmed_](const CallAnswer& answer) {
        if (!answer.result.done()) return done(answer.result, 0);
        if (answer.reply.rows.empty()) return done(Missing(), 0);
        const ShardRow row = ReadShardRow(answer.reply.rows);
        if (row.view.last < known) return done(OlderState(row.view.last), 0);
        if (row.epoch != EpochOf(fence)) return done(Fenced(), 0);
        Beat(fence, epoch, done);
      });
}

void PostgresStore::Release(Revision fence, const Reign& /*reign*/, Done done) {
  caller_.Call(LaneOf::kBeats, Quick(statements_.Release(EpochOf(fence))),
               [done = std::move(done)](const CallAnswer& answer) { done(answer.result); });
}

// --- partitions

// Makes the next partition ahead of need, one at a time.
void PostgresStore::MakeRoom(Done done) {
  room_awaited_.push_back(std::move(done));
  if (std::exchange(making_room_, true)) return;
  caller_.Call(LaneOf::kReads, Slow(statements_.Partitions()), [this](const CallAnswer& answer) {
    if (!answer.result.done()) return OnRoom(answer.result);
    const std::vector<Partition> all = ReadPartitions(answer.reply.rows);
    width_ = WidthAfter(all);
    first_to_ = all.empty() ? 0 : all.front().to;
    room_to_ = all.empty() ? last_ + 1 : all.back().to;
    if (last_ + width_ / 2 < room_to_) return OnRoom({});
    const std::uint64_t to = room_to_ + width_;
    caller_.Call(LaneOf::kReads,
                 Slow(statements_.MakePartition(room_to_, to),
                      fmt::format("{} {} {}", kOverlaps, kAttached, kDiskFull)),
                 [this, to](const CallAnswer& made) {
                   const std::string& state = made.reply.state;
                   if (made.reply.ok() || state == kAttached) room_to_ = to;
                   OnRoom(state == kDiskFull ? Full(made.reply) : StoreResult{});
                 });
  });
}

void PostgresStore::OnRoom(const StoreResult& result) {
  making_room_ = false;
  for (const Done& each : std::exchange(room_awaited_, {})) each(result);
}

// So many parts that a partition has a small share of the log.
std::uint64_t PostgresStore::WidthAfter(const std::vector<Partition>& partitions) const {
  constexpr std::uint64_t kEnough = 16;
  std::uint64_t mean = kUsualPart;
  if (!partitions.empty()) {
    const Partition& before = partitions.back();
    const std::uint64_t parts = std::min(last_ + 1, before.to) - std::min(last_ + 1, before.from);
    if (parts >= kEnough) mean = std::max<std::uint64_t>(before.bytes / parts, 1);
  }
  const std::uint64_t bytes = std::min(kPartitionBytes, max_bytes_ / 16);
  return std::clamp(bytes / mean, kLeastWidth, kMostWidth);
}

void PostgresStore::Trim(Revision fence, std::uint64_t below, TrimDone done) {
  caller_.Call(LaneOf::kReads, Slow(statements_.Look()),
               [this, fence, below, done = std::move(done)](const CallAnswer& answer) {
                 if (!answer.result.done()) return done(answer.result, false);
                 if (answer.reply.rows.empty()) return done(Missing(), false);
                 const ShardRow row = ReadShardRow(answer.reply.rows);
                 if (row.epoch != EpochOf(fence)) return done(Fenced(), false);
                 const std::uint64_t safe = std::min(below, row.view.oldest);
                 if (first_to_ != 0 && first_to_ > safe) return done({}, false);
                 DropBelow(safe, done);
               });
}

// Drops the first partition, if all of it lies below.
void PostgresStore::DropBelow(std::uint64_t below, const TrimDone& done) {
  caller_.Call(LaneOf::kReads, Slow(statements_.Partitions()),
               [this, below, done](const CallAnswer& answer) {
                 if (!answer.result.done()) return done(answer.result, false);
                 const std::vector<Partition> all = ReadPartitions(answer.reply.rows);
                 first_to_ = all.empty() ? 0 : all.front().to;
                 if (all.size() < 2 || all.front().to > below) return done({}, false);
                 first_to_ = all[1].to;
                 const bool more = first_to_ <= below;
                 caller_.Call(
                     LaneOf::kReads, Slow(statements_.Drop(all.front().name)),
                     [more, done](const CallAnswer& dropped) { done(dropped.result, more); });
               });
}

StoreStats PostgresStore::Stats() const {
  StoreStats stats;
  stats.endpoints = caller_.Endpoints();
  stats.append_retries = caller_.append_retries();
  stats.trouble = caller_.trouble();
  if (caller_.primary().empty()) return stats;
  stats.server = caller_.facts().server;
  stats.server->primary = caller_.primary();
  stats.server->primaries = std::max<std::size_t>(primaries_, 1);
  return stats;
}

}  // namespace gearstalk::postgres
