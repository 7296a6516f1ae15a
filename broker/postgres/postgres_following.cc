// What a shard has, for brokers that follow, and bodies for the one that leads.

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "broker/postgres/postgres_store.h"

namespace gearstalk::postgres {
namespace {

constexpr Time kPollPause = 200 * kMillisecond;  // should a notification be lost
constexpr Time kConfirmPause = 200 * kMillisecond;
constexpr char kDamaged[] = "XX001";
constexpr char kUnreadable[] = "XX000 58030 53200";  // an error of the server, its disk, or memory

}  // namespace

void PostgresStore::Read(std::uint64_t from, std::uint64_t count, Revision at, ReadDone done) {
  caller_.Call(LaneOf::kReads, Slow(statements_.Read(from, count, at), kNoTable),
               [this, from, done = std::move(done)](const CallAnswer& answer) {
                 std::vector<LogPart> parts;
                 if (!answer.result.done()) return done(answer.result, std::move(parts));
                 const Rows& rows = answer.reply.rows;
                 if (!rows.empty() && rows.Unsigned(0, 0) > from) {
                   return done({StoreAnswer::kTrimmed, {}}, std::move(parts));
                 }
                 if (!rows.empty() && rows.Unsigned(0, 1) < from && from <= looked_last_) {
                   return done(Lost(from, rows.Unsigned(0, 1)), std::move(parts));
                 }
                 for (int i = 0; i < rows.size(); ++i) {
                   if (rows.IsNull(i, 2)) continue;
                   parts.push_back({rows.Unsigned(i, 2), std::string(rows.Text(i, 3))});
                 }
                 next_ = std::max(next_, parts.empty() ? from : parts.back().seq + 1);
                 if (!parts.empty()) NoteSeen(parts.back(), answer.server);
                 done({}, std::move(parts));
               });
}

void PostgresStore::Fetch(Revision fence, const std::vector<PartPiece>& pieces,
                          const FetchDone& done) {
  caller_.Call(LaneOf::kReads,
               Slow(statements_.Fetch(pieces), fmt::format("{} {}", kDamaged, kUnreadable)),
               [this, fence, done](const CallAnswer& answer) {
                 if (!answer.result.done()) return done(answer.result, {});
                 const Reply& reply = answer.reply;
                 if (!reply.ok()) {
                   const Code code = reply.state == kDamaged ? Code::kCorrupt : Code::kIo;
                   return done(FailedWith({code, "PostgreSQL: " + reply.message}), {});
                 }
                 const Rows& rows = reply.rows;
                 std::vector<std::string> read;
                 for (int i = 0; i < rows.size(); ++i) {
                   // The next beat ends it.
                   if (rows.IsNull(i, 0)) return done(FailedWith({Code::kIo, "no row"}), {});
                   const bool fenced = fence != 0 && rows.Unsigned(i, 0) != EpochOf(fence);
                   if (fenced) return done(Fenced(), {});
                   read.emplace_back(rows.Text(i, 1));
                 }
                 done({}, read);
               });
}

void PostgresStore::NoteSeen(const LogPart& part, std::uint64_t server) {
  if (part.seq < seen_.seq) return;
  seen_ = part;
  seen_at_ = server;
}

void PostgresStore::Follow(Revision from, LogWatcher& watcher) {
  watch_ = {.watcher = &watcher, .number = watch_.number + 1, .from = from};
}

void PostgresStore::EndWatch(const StoreResult& result) {
  if (watch_.watcher != nullptr) std::exchange(watch_.watcher, nullptr)->OnWatchEnd(result);
}

void PostgresStore::Poll(Time now) {
  if (watch_.watcher == nullptr || polling_ || now < watch_.again) return;
  polling_ = true;
  watch_.again = now + kPollPause;
  if (seen_.seq != 0 && seen_at_ != caller_.server() && caller_.server() != 0) return CheckSeen();
  caller_.Call(LaneOf::kReads, Slow(statements_.Poll(next_, watch_.from, page_.parts()), kNoTable),
               [this, number = watch_.number](const CallAnswer& answer) {
                 polling_ = false;
                 if (number == watch_.number && watch_.watcher != nullptr) OnPoll(answer);
               });
}

void PostgresStore::OnPoll(const CallAnswer& answer) {
  if (!answer.result.done()) return EndWatch(answer.result);
  const Rows& rows = answer.reply.rows;
  if (rows.empty()) return EndWatch(Missing());
  const LogView view = ReadShardRow(rows).view;
  if (view.last < confirmed_) return EndWatch(OlderState(view.last));
  // Another server may have answered: what was read is compared first.
  if (seen_.seq != 0 && answer.server != seen_at_) {
    watch_.again = 0;
    return;
  }
  if (next_ == 0) next_ = rows.Unsigned(0, kShardColumns);
  if (view.oldest > next_) return EndWatch({StoreAnswer::kTrimmed, {}});
  const std::uint64_t number = watch_.number;
  const bool led_anew = view.leader_at >= watch_.from && view.leader_at != watch_.leader_at;
  const bool beaten = watch_.beat < 0 ? led_anew : view.beat_at != watch_.beat;
  watch_.leader_at = view.leader_at;
  watch_.beat = view.beat_at;
  TellParts(rows, view);
  const auto goes_on = [&] { return watch_.watcher != nullptr && watch_.number == number; };
  if (led_anew && goes_on()) watch_.watcher->OnReign(view.leader, view.leader_at);
  if (beaten && goes_on()) watch_.watcher->OnBeat(view.beat_at, view.at);
  if (goes_on() && next_ > view.last) watch_.watcher->OnSeen(view.at);
}

void PostgresStore::TellParts(const Rows& rows, const LogView& view) {
  const std::uint64_t number = watch_.number;
  std::uint64_t bytes = 0;
  for (int i = 0; i < rows.size() && !rows.IsNull(i, kShardColumns + 1); ++i) {
    LogPart part{rows.Unsigned(i, kShardColumns + 1), std::string(rows.Text(i, kShardColumns + 3))};
    const Revision at = rows.Number(i, kShardColumns + 2);
    next_ = part.seq + 1;
    bytes += part.bytes.size();
    NoteSeen(part, seen_at_ == 0 ? caller_.server() : seen_at_);
    watch_.watcher->OnPart(std::move(part));
    if (watch_.watcher == nullptr || watch_.number != number) return;
    watch_.watcher->OnSeen(at);
    if (watch_.watcher == nullptr || watch_.number != number) return;
  }
  page_.OnPage(bytes);
  if (next_ <= view.last) watch_.again = 0;
}

// Another server may lack what this broker has read, or have something else in its place.
void PostgresStore::CheckSeen() {
  caller_.Call(LaneOf::kReads, Slow(statements_.Confirm(seen_.seq, seen_.bytes), kNoTable),
               [this, number = watch_.number, seq = seen_.seq](const CallAnswer& answer) {
                 polling_ = false;
                 watch_.again = 0;
                 if (number != watch_.number || watch_.watcher == nullptr) return;
                 if (!answer.result.done()) return EndWatch(answer.result);
                 const Rows& rows = answer.reply.rows;
                 if (rows.empty()) return EndWatch(Missing());
                 const LogView view = ReadShardRow(rows).view;
                 if (view.oldest > seq || rows.Flag(0, kShardColumns)) {
                   seen_at_ = answer.server;
                   confirmed_ = std::max(confirmed_, std::min(seq, view.last));
                   return;
                 }
                 EndWatch(Lost(seq, view.last));
               });
}

// What was read from this server is on its standbys when a later commit is confirmed.
void PostgresStore::ConfirmSeen(Time now) {
  if (watch_.watcher == nullptr || confirming_ || now < confirm_after_) return;
  if (seen_.seq <= confirmed_ || seen_at_ != caller_.server()) return;
  confirming_ = true;
  confirm_after_ = now + kConfirmPause;
  caller_.Call(LaneOf::kReads, Slow(statements_.Message()),
               [this, seq = seen_.seq, server = seen_at_](const CallAnswer& answer) {
                 confirming_ = false;
                 if (!answer.reply.ok() || answer.server != server) return;
                 confirmed_ = std::max(confirmed_, seq);
               });
}

}  // namespace gearstalk::postgres
