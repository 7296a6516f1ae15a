#include "broker/etcd/watch.h"

#include <grpcpp/generic/generic_stub.h>

#include <utility>

#include "broker/etcd/etcd.pb.h"
#include "broker/etcd/transactions.h"
#include "broker/etcd/values.h"

namespace gearstalk::etcd {

// The stream goes through its steps one at a time: begun, the request written, then one message
// read after the other, then the end. After Detach it lives until the step under way is done.
class Watch::Stream final : public Completion {
 public:
  Stream(Watch& owner, Caller& caller, std::size_t endpoint, std::string prefix, Revision from,
         LogWatcher& watcher)
      : caller_(caller),
        endpoint_(endpoint),
        prefix_(std::move(prefix)),
        owner_(&owner),
        watcher_(&watcher) {
    WatchRequest request;
    WatchCreateRequest& create = *request.mutable_create_request();
    create.set_key(prefix_);
    create.set_range_end(EndOf(prefix_));
    create.set_start_revision(from);
    create.set_fragment(true);
    const grpc::Slice slice(request.SerializeAsString());
    request_ = grpc::ByteBuffer(&slice, 1);
    caller.Prepare(context_, 0);
    // A node that has lost its leader ends the watch, instead of staying silent.
    context_.AddMetadata("hasleader", "true");
    stream_ =
        caller.endpoints()
            .Stub(endpoint, Lane::kBeats)
            .PrepareCall(&context_, "/etcdserverpb.Watch/Watch", &caller.completions().queue());
    stream_->StartCall(this);
  }

  void Detach() {
    owner_ = nullptr;
    watcher_ = nullptr;
    context_.TryCancel();
  }

  // Once detached it starts nothing more: the queue may be closing.
  void OnComplete(bool ok) override {
    if (ok && step_ == Step::kRead && watcher_ != nullptr) Handle();
    if (step_ == Step::kEnd) Tell({StoreAnswer::kDone, {Code::kIo, status_.error_message()}});
    if (owner_ == nullptr || step_ == Step::kEnd) return Destroy();
    if (!ok) {
      step_ = Step::kEnd;
      return stream_->Finish(&status_, this);
    }
    if (std::exchange(step_, Next()) == Step::kBegin) {
      stream_->Write(request_, this);
    } else {
      stream_->Read(&message_, this);
    }
  }

 private:
  enum class Step : std::uint8_t { kBegin, kWrite, kRead, kEnd };

  Step Next() const { return step_ == Step::kBegin ? Step::kWrite : Step::kRead; }

  void Handle() {
    WatchResponse response;
    if (!Parse(message_, response)) return Tell({StoreAnswer::kDone, {}});
    if (!caller_.OfThisCluster(endpoint_, response.header().cluster_id())) {
      return Tell({StoreAnswer::kDone, {Code::kInvalid, caller_.foreign()}});
    }
    for (const etcd::Event& event : response.events()) {
      if (watcher_ == nullptr) return;
      event.type() == etcd::Event::PUT ? OnPut(event.kv()) : OnDelete(event.kv());
    }
    if (watcher_ != nullptr && response.events_size() > 0) {
      // More events of the last revision may follow in the next fragment.
      const Revision last = response.events(response.events_size() - 1).kv().mod_revision();
      watcher_->OnSeen(response.fragment() ? last - 1 : last);
    }
    if (watcher_ == nullptr || !response.canceled()) return;
    const bool compacted = response.compact_revision() > 0;
    Tell({compacted ? StoreAnswer::kTrimmed : StoreAnswer::kDone,
          {Code::kIo, response.cancel_reason()}});
  }

  void OnPut(const KeyValue& kv) {
    const std::string_view name = std::string_view(kv.key()).substr(prefix_.size());
    if (name.starts_with("j/")) {
      if (const std::uint64_t seq = SeqOf(name); seq != 0) watcher_->OnPart({seq, kv.value()});
    } else if (name == "leader") {
      Reign reign;
      const Status read = FromJson(kv.value(), reign);
      if (read.ok()) return watcher_->OnReign(reign, kv.mod_revision());
      Tell(FailedWith(read));
    } else if (name == "beat") {
      watcher_->OnBeat(kv.mod_revision(), kv.mod_revision());
    }
  }

  // Of the other keys, brokers delete parts only.
  void OnDelete(const KeyValue& kv) {
    const std::string_view name = std::string_view(kv.key()).substr(prefix_.size());
    if (name == "beat") return watcher_->OnBeat(0, kv.mod_revision());
    if (name == "leader" || name == "tail" || name == "meta") {
      Tell(FailedWith(KeyIsMissing(kv.key(), kEtcdWords)));
    }
  }

  void Tell(const StoreResult& result) {
    LogWatcher* watcher = std::exchange(watcher_, nullptr);
    context_.TryCancel();
    if (watcher != nullptr) watcher->OnWatchEnd(result);
  }

  void Destroy() {
    if (owner_ != nullptr) owner_->stream_ = nullptr;
    delete this;
  }

  Caller& caller_;
  const std::size_t endpoint_;
  const std::string prefix_;
  Watch* owner_;         // nullptr: detached
  LogWatcher* watcher_;  // nullptr: the end was told, or nobody listens
  grpc::ClientContext context_;
  std::unique_ptr<grpc::GenericClientAsyncReaderWriter> stream_;
  grpc::ByteBuffer request_, message_;
  grpc::Status status_;
  Step step_ = Step::kBegin;
};

Watch::Watch(Caller& caller, std::size_t endpoint, std::string prefix, Revision from,
             LogWatcher& watcher)
    : stream_(new Stream(*this, caller, endpoint, std::move(prefix), from, watcher)) {}

Watch::~Watch() {
  if (stream_ != nullptr) stream_->Detach();
}

}  // namespace gearstalk::etcd
