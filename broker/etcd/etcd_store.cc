#include "broker/etcd/etcd_store.h"

#include <fmt/format.h>
#include <grpc/support/log.h>

#include <algorithm>
#include <utility>

#include "broker/base/log.h"
#include "broker/etcd/etcd.pb.h"
#include "broker/etcd/transactions.h"
#include "broker/etcd/values.h"
#include "broker/replica/follower.h"

namespace gearstalk::etcd {
namespace {

constexpr char kTxn[] = "/etcdserverpb.KV/Txn";
constexpr char kRange[] = "/etcdserverpb.KV/Range";
constexpr Time kAppendLimit = 10 * kSecond;
constexpr Time kPageLimit = 60 * kSecond;  // a page may have megabytes
constexpr Time kStatusPause = 10 * kSecond;
constexpr std::int64_t kTrimKeys = 500;

}  // namespace

EtcdStore::EtcdStore(EtcdOptions options, const EtcdSecrets& secrets, std::function<Time()> boot)
    : options_(std::move(options)), boot_(boot), caller_(options_, secrets, std::move(boot)) {}

// Beats, acquires, releases and reads.
CallPlan EtcdStore::QuickPlan(const char* method, Lane lane) const {
  return {
      .method = method, .lane = lane, .hedge = QuickHedge(options_.lease), .limit = options_.lease};
}

// Of an answer that is not done, the response is empty.
template <typename Response, typename Request>
void EtcdStore::Ask(const CallPlan& plan, const Request& request, OnResponse<Response> done) {
  caller_.Call(
      plan, request.SerializeAsString(), [done = std::move(done)](const CallAnswer& answer) {
        Response response;
        if (!answer.result.done()) return done(answer.result, response, answer);
        if (response.ParseFromString(answer.bytes)) return done({}, response, answer);
        response.Clear();
        done(FailedWith({Code::kCorrupt, "etcd sent an unreadable answer"}), response, answer);
      });
}

// Asks every endpoint once, so that endpoints of two clusters are detected before anything is done.
void EtcdStore::Open(Done done) {
  AskStatus([this, done = std::move(done)] {
    const std::string& foreign = caller_.foreign();
    if (!foreign.empty()) return done(FailedWith({Code::kInvalid, foreign}));
    done({});
  });
}

void EtcdStore::AskStatus(const std::function<void()>& done) {
  const CallPlan plan{
      .method = "/etcdserverpb.Maintenance/Status", .limit = kSecond, .anonymous = true};
  ask_status_ = boot_() + kStatusPause;
  const auto left = std::make_shared<std::size_t>(caller_.endpoints().size());
  for (std::size_t i = 0; i < caller_.endpoints().size(); ++i) {
    CallPlan there = plan;
    there.only = i;
    caller_.Call(there, {}, [this, i, left, done](const CallAnswer& answer) {
      StatusResponse response;
      if (answer.result.done() && response.ParseFromString(answer.bytes)) {
        caller_.endpoints().at(i).db_bytes = static_cast<std::uint64_t>(response.db_size());
        NoteVersion(response.version());
      }
      if (--*left == 0 && done) done();
    });
  }
}

void EtcdStore::NoteVersion(const std::string& version) {
  const std::string lacks = LacksOf(version);
  if (lacks.empty() || version == told_version_) return;
  told_version_ = version;
  Log(LogLevel::kWarning, "use etcd 3.5.17 or later, or 3.6",
      {{"version", version}, {"because", lacks}});
}

Time EtcdStore::Tick(Time now) {
  if (now >= ask_status_) AskStatus({});
  return std::min(caller_.Tick(now), ask_status_);
}

void EtcdStore::Look(LookDone done) {
  TxnRequest txn;
  for (const char* name : {"leader", "beat", "tail", "meta", "standby"}) ThenGet(txn, Key(name));
  Ask<TxnResponse>(QuickPlan(kTxn), txn,
                   [this, done = std::move(done)](const StoreResult& result,
                                                  const TxnResponse& response, const CallAnswer&) {
                     LogView view;
                     if (!result.done()) return done(result, view);
                     const Status read = ReadView(response, options_.prefix, view);
                     if (view.meta_at != 0) caller_.Settle();
                     done(read.ok() ? StoreResult{} : FailedWith(read), view);
                   });
}

void EtcdStore::Found(const ShardMeta& meta, Done done) {
  TxnRequest txn;
  RequireMod(txn, Key("leader"), 0);
  WriteMeta(std::move(txn), 0, meta, std::move(done));
}

void EtcdStore::ReplaceMeta(Revision seen, const ShardMeta& meta, Done done) {
  WriteMeta({}, seen, meta, std::move(done));
}

void EtcdStore::Announce(const Reign& standby, Done done) {
  TxnRequest txn;
  ThenPut(txn, Key("standby"), StandbyJson(standby));
  Ask<TxnResponse>(QuickPlan(kTxn), txn,
                   [done = std::move(done)](const StoreResult& result, const TxnResponse&,
                                            const CallAnswer&) { done(result); });
}

void EtcdStore::WriteMeta(TxnRequest txn, Revision seen, const ShardMeta& meta, Done done) {
  RequireMod(txn, Key("meta"), seen);
  ThenPut(txn, Key("meta"), ToJson(meta));
  Ask<TxnResponse>(QuickPlan(kTxn), txn,
                   [done = std::move(done)](const StoreResult& result, const TxnResponse& response,
                                            const CallAnswer&) {
                     done(result.done() && !response.succeeded() ? Fenced() : result);
                   });
}

void EtcdStore::Acquire(const LogView& seen, const Reign& reign, AcquireDone done) {
  TxnRequest txn;
  RequireMod(txn, Key("leader"), seen.leader_at);
  const bool silent = seen.leader_at != 0 && !seen.leader.vacant;
  if (silent) RequireMod(txn, Key("beat"), seen.beat_at);
  ThenPut(txn, Key("leader"), ToJson(reign));
  ThenPut(txn, Key("beat"), BeatJson(reign.epoch, 0));
  ThenGet(txn, Key("tail"));
  ElseGet(txn, Key("leader"));
  ElseGet(txn, Key("tail"));
  Ask<TxnResponse>(
      QuickPlan(kTxn), txn,
      [this, reign, done = std::move(done)](const StoreResult& result, const TxnResponse& response,
                                            const CallAnswer& answer) {
        Acquired acquired;
        if (!result.done()) return done(result, acquired);
        LogView view;
        const Status read = ReadView(response, options_.prefix, view);
        if (!read.ok()) return done(FailedWith(read), acquired);
        const bool mine = IsSameReign(view.leader, reign);
        if (!response.succeeded() && !mine) return done(Fenced(), acquired);
        acquired.fence = response.succeeded() ? view.at : view.leader_at;
        acquired.last = view.last;
        acquired.oldest = view.oldest;
        acquired.sent = answer.first_sent;
        acquired.at = acquired.fence;
        tail_at_ = view.tail_at;
        beats_ = 0;
        caller_.endpoints().PutFirst(answer.endpoint);
        done({}, acquired);
      });
}

void EtcdStore::Append(Revision fence, std::uint64_t seq, const std::string& bytes,
                       std::uint64_t oldest, Done done) {
  const std::string part = Key(PartName(seq));
  TxnRequest txn;
  RequireMod(txn, Key("leader"), fence);
  RequireMod(txn, Key("tail"), tail_at_);
  ThenPut(txn, part, bytes);
  ThenPut(txn, Key("tail"), TailJson(seq, oldest));
  ElseGet(txn, Key("leader"));
  ElseGet(txn, Key("tail"));
  ElseGet(txn, part);
  const CallPlan plan{
      .method = kTxn, .hedge = SlowHedge(options_.lease), .limit = kAppendLimit, .append = true};
  Ask<TxnResponse>(plan, txn,
                   [this, fence, seq, &bytes, done = std::move(done)](
                       const StoreResult& result, const TxnResponse& response, const CallAnswer&) {
                     done(result.done() ? JudgeAppend(response, fence, seq, bytes) : result);
                   });
}

// An append that was refused may have been written by an earlier try of the same bytes.
StoreResult EtcdStore::JudgeAppend(const TxnResponse& response, Revision fence, std::uint64_t seq,
                                   const std::string& bytes) {
  if (response.succeeded()) {
    tail_at_ = response.header().revision();
    return {};
  }
  const KeyValue* leader = etcd::Found(response, 0);
  const KeyValue* tail = etcd::Found(response, 1);
  const KeyValue* part = etcd::Found(response, 2);
  if (leader == nullptr) return Missing("leader");
  if (leader->mod_revision() != fence) return Fenced();
  if (tail == nullptr && tail_at_ != 0) return Missing("tail");
  if (part != nullptr && tail != nullptr && part->value() == bytes) {
    tail_at_ = tail->mod_revision();
    return {};
  }
  return FailedWith(
      {Code::kCorrupt,
       fmt::format("{} was written by something that is no gearstalkd: found '{}' before {}",
                   Key("tail"), tail == nullptr ? "nothing" : tail->value(), PartName(seq))});
}

// Of a transaction that needs the fence, and gets the leader if it has been refused.
StoreResult EtcdStore::JudgeFence(const StoreResult& result, const TxnResponse& response) const {
  if (!result.done() || response.succeeded()) return result;
  return etcd::Found(response, 0) == nullptr ? Missing("leader") : Fenced();
}

StoreResult EtcdStore::Missing(const char* name) const {
  return FailedWith(KeyIsMissing(Key(name), kEtcdWords));
}

void EtcdStore::Beat(Revision fence, std::uint64_t epoch, BeatDone done) {
  TxnRequest txn;
  RequireMod(txn, Key("leader"), fence);
  ThenPut(txn, Key("beat"), BeatJson(epoch, ++beats_));
  ElseGet(txn, Key("leader"));
  Ask<TxnResponse>(
      QuickPlan(kTxn), txn,
      [this, fence, done = std::move(done)](const StoreResult& result, const TxnResponse& response,
                                            const CallAnswer& answer) {
        if (result.answer == StoreAnswer::kFull) return HoldOn(fence, done);
        done(JudgeFence(result, response), answer.sent);
      });
}

// etcd has no space for a beat but takes deletions. Without `beat` a standby knows that this broker
// may act on its lease although no beats are seen.
void EtcdStore::HoldOn(Revision fence, BeatDone done) {
  TxnRequest txn;
  RequireMod(txn, Key("leader"), fence);
  ThenDelete(txn, Key("beat"));
  ElseGet(txn, Key("leader"));
  Ask<TxnResponse>(
      QuickPlan(kTxn), txn,
      [this, done = std::move(done)](const StoreResult& result, const TxnResponse& response,
                                     const CallAnswer& answer) {
        done(JudgeFence(result, response), answer.sent);
      });
}

void EtcdStore::Release(Revision fence, const Reign& reign, Done done) {
  Reign vacant = reign;
  vacant.vacant = true;
  TxnRequest txn;
  RequireMod(txn, Key("leader"), fence);
  ThenPut(txn, Key("leader"), ToJson(vacant));
  Ask<TxnResponse>(QuickPlan(kTxn), txn,
                   [done = std::move(done)](const StoreResult& result, const TxnResponse&,
                                            const CallAnswer&) { done(result); });
}

// Finds the oldest keys, then deletes as many as one transaction should.
void EtcdStore::Trim(Revision fence, std::uint64_t below, TrimDone done) {
  RangeRequest range;
  range.set_key(Key(PartName(0)));
  range.set_range_end(Key(PartName(below)));
  range.set_limit(kTrimKeys);
  range.set_keys_only(true);
  Ask<RangeResponse>(
      QuickPlan(kRange, Lane::kData), range,
      [this, fence, done = std::move(done)](const StoreResult& result, const RangeResponse& keys,
                                            const CallAnswer& answer) {
        if (!result.done()) return done(result, false);
        if (keys.kvs_size() > 0) return Delete(fence, keys, done);
        CompactAt(keys.header().revision(), answer.endpoint);
        done({}, false);
      });
}

void EtcdStore::Delete(Revision fence, const RangeResponse& keys, TrimDone done) {
  TxnRequest txn;
  RequireMod(txn, Key("leader"), fence);
  DeleteRangeRequest& range = *txn.add_success()->mutable_request_delete_range();
  range.set_key(keys.kvs(0).key());
  range.set_range_end(keys.kvs(keys.kvs_size() - 1).key() + '\0');
  ElseGet(txn, Key("leader"));
  const bool more = keys.more();
  Ask<TxnResponse>(
      QuickPlan(kTxn, Lane::kData), txn,
      [this, more, done = std::move(done)](const StoreResult& result, const TxnResponse& response,
                                           const CallAnswer& answer) {
        if (!result.done() || !response.succeeded()) {
          return done(JudgeFence(result, response), false);
        }
        if (!more) CompactAt(response.header().revision(), answer.endpoint);
        done({}, more);
      });
}

// Compacts at the revision of the trim before this one: etcd 3.4 can lose track of a deletion whose
// own revision is compacted (its issue 17780). The endpoint answered the trim, so it is no foreign
// one.
void EtcdStore::CompactAt(Revision revision, std::size_t endpoint) {
  const Revision before = std::exchange(trimmed_at_, revision);
  if (before == 0 || before == revision || !options_.compact) return;
  CompactionRequest request;
  request.set_revision(before);
  CallPlan plan = QuickPlan("/etcdserverpb.KV/Compact", Lane::kData);
  plan.only = endpoint;
  caller_.Call(plan, request.SerializeAsString(), [](const CallAnswer&) {});
}

void EtcdStore::Read(std::uint64_t from, std::uint64_t count, Revision at, ReadDone done) {
  RangeRequest range;
  range.set_key(Key(PartName(from)));
  range.set_range_end(EndOf(Key("j/")));
  range.set_limit(static_cast<std::int64_t>(count));
  range.set_revision(at);
  // The contents at a revision never change, so the node need not ask the others. A node that has
  // not reached the revision yet refuses.
  range.set_serializable(true);
  CallPlan plan = QuickPlan(kRange, Lane::kData);
  plan.is_large = true;
  plan.hedge = std::clamp(2 * page_took_, plan.hedge, kAppendLimit);
  plan.limit = kPageLimit;
  Ask<RangeResponse>(plan, range,
                     [this, done = std::move(done)](const StoreResult& result, RangeResponse& page,
                                                    const CallAnswer& answer) {
                       page_took_ = boot_() - answer.sent;
                       std::vector<LogPart> parts;
                       for (KeyValue& kv : *page.mutable_kvs()) {
                         const std::string_view name =
                             std::string_view(kv.key()).substr(options_.prefix.size());
                         const std::uint64_t seq = SeqOf(name);
                         if (seq != 0) parts.push_back({seq, std::move(*kv.mutable_value())});
                       }
                       done(result, std::move(parts));
                     });
}

// Each call opens the watch at the next endpoint.
void EtcdStore::Follow(Revision from, LogWatcher& watcher) {
  const Endpoints& endpoints = caller_.endpoints();
  std::size_t endpoint = 0;
  for (std::size_t tried = 0; tried < endpoints.size(); ++tried) {
    endpoint = endpoints.order()[watched_++ % endpoints.size()];
    if (!endpoints.at(endpoint).foreign) break;
  }
  watch_ = std::make_unique<Watch>(caller_, endpoint, options_.prefix, from, watcher);
}

const StoreWords& EtcdStore::Words() const { return kEtcdWords; }

StoreStats EtcdStore::Stats() const {
  StoreStats stats;
  const Endpoints& endpoints = caller_.endpoints();
  for (std::size_t i = 0; i < endpoints.size(); ++i) {
    const Endpoints::Endpoint& endpoint = endpoints.at(i);
    stats.endpoints.push_back(
        {endpoint.name.address, endpoints.order().front() == i, endpoint.db_bytes});
  }
  stats.append_retries = caller_.append_retries();
  stats.trouble = caller_.trouble();
  return stats;
}

void LogThroughUs() {
  gpr_set_log_verbosity(GPR_LOG_SEVERITY_ERROR);
  gpr_set_log_function([](gpr_log_func_args* said) {
    if (Logs(LogLevel::kDebug)) Log(LogLevel::kDebug, "grpc", {{"message", said->message}});
  });
}

}  // namespace gearstalk::etcd
