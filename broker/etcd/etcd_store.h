#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "broker/etcd/caller.h"
#include "broker/etcd/endpoints.h"
#include "broker/etcd/watch.h"
#include "broker/replica/log_store.h"

namespace gearstalk::etcd {

class RangeResponse;
class TxnRequest;
class TxnResponse;

// A shard in etcd v3.
class EtcdStore final : public LogStore {
 public:
  // `options` passed CheckEndpoints. `boot` reads CLOCK_BOOTTIME.
  EtcdStore(EtcdOptions options, const EtcdSecrets& secrets, std::function<Time()> boot);

  void Open(Done done) override;
  int NotifyFd() const override { return caller_.notify_fd(); }
  void OnNotify() override { caller_.completions().Run(); }
  Time Tick(Time now) override;

  void Look(LookDone done) override;
  void Found(const ShardMeta& meta, Done done) override;
  void Announce(const Reign& standby, Done done) override;
  void ReplaceMeta(Revision seen, const ShardMeta& meta, Done done) override;
  void Acquire(const LogView& seen, const Reign& reign, AcquireDone done) override;
  void Append(Revision fence, std::uint64_t seq, const std::string& bytes, std::uint64_t oldest,
              Done done) override;
  void Beat(Revision fence, std::uint64_t epoch, BeatDone done) override;
  void Release(Revision fence, const Reign& reign, Done done) override;
  void Trim(Revision fence, std::uint64_t below, TrimDone done) override;
  void Read(std::uint64_t from, std::uint64_t count, Revision at, ReadDone done) override;
  void Follow(Revision from, LogWatcher& watcher) override;
  void StopFollowing() override { watch_.reset(); }
  StoreStats Stats() const override;
  const StoreWords& Words() const override;

  // At SIGHUP: connects anew with what is in the files now.
  void Reconnect(const EtcdSecrets& secrets) { caller_.Reconnect(secrets); }

 private:
  template <typename Response>
  using OnResponse = std::function<void(const StoreResult&, Response&, const CallAnswer&)>;

  std::string Key(std::string_view name) const { return options_.prefix + std::string(name); }
  CallPlan QuickPlan(const char* method, Lane lane = Lane::kBeats) const;
  template <typename Response, typename Request>
  void Ask(const CallPlan& plan, const Request& request, OnResponse<Response> done);
  void WriteMeta(TxnRequest txn, Revision seen, const ShardMeta& meta, Done done);
  StoreResult JudgeFence(const StoreResult& result, const TxnResponse& response) const;
  StoreResult Missing(const char* name) const;
  void HoldOn(Revision fence, BeatDone done);
  StoreResult JudgeAppend(const TxnResponse& response, Revision fence, std::uint64_t seq,
                          const std::string& bytes);
  void Delete(Revision fence, const RangeResponse& keys, TrimDone done);
  void CompactAt(Revision revision, std::size_t endpoint);
  void AskStatus(const std::function<void()>& done);
  void NoteVersion(const std::string& version);

  const EtcdOptions options_;
  const std::function<Time()> boot_;
  Caller caller_;
  std::unique_ptr<Watch> watch_;
  std::size_t watched_ = 0;  // turn in the order of endpoints
  Revision tail_at_ = 0;     // of this broker's last append, or as the acquire found it
  std::uint64_t beats_ = 0;
  Revision trimmed_at_ = 0;  // of the last trim
  Time page_took_ = 0;       // the last page that was read
  Time ask_status_ = 0;      // again
  std::string told_version_;
};

// Sends gRPC's messages to our log, at level debug: errors of calls are reported by the calls.
void LogThroughUs();

}  // namespace gearstalk::etcd
