#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>

#include "broker/base/slices.h"
#include "broker/engine/engine.h"
#include "broker/server/protocol.h"
#include "broker/transfer/frame.h"

namespace gearstalk::transfer {

// The transfer protocol, and what all its sessions share. Outlives them.
class TransferProtocol final : public Protocol {
 public:
  explicit TransferProtocol(Engine& engine) : engine_(engine) {}

  std::string_view name() const override { return "transfer"; }
  Claim Sniff(std::string_view bytes) const override;
  Claim SniffUnknown(std::string_view /*bytes*/) const override { return Claim::kNo; }
  bool NeedsGreeting() const override { return true; }
  std::unique_ptr<Session> NewSession(Wire& wire) override;

  Engine& engine() { return engine_; }
  // What Gearman's classes are as priorities here; all 0: not known.
  struct Classes {
    std::uint32_t high = 0, normal = 0, low = 0;
  };
  void SetClasses(Classes classes) { classes_ = classes; }
  const Classes& classes() const { return classes_; }
  // One connection at a time uses a transfer. False: another does.
  bool TakeTransfer(const std::string& name) { return used_.insert(name).second; }
  // `changed`: the last change that the connection made.
  void GiveTransfer(const std::string& name, Lsn changed) {
    used_.erase(name);
    changed_ = std::max(changed_, changed);
  }
  // What has to be durable before a connection hears of a transfer that another one had.
  Lsn changed() const { return changed_; }

 private:
  Engine& engine_;
  Classes classes_{};
  std::set<std::string> used_;
  Lsn changed_ = 0;
};

// Keeps a tube whose settings came before its jobs: a pause would end with an empty tube.
class TubeUse final : public Consumer {
 public:
  TubeUse(Engine& engine, const Wire& wire, std::string_view tube);
  ~TubeUse() override;

 private:
  Engine& engine_;
  const Wire& wire_;
};

// The beginning of a frame whose rest has not come. JobMemory counts it.
class PendingFrame {
 public:
  PendingFrame() = default;
  PendingFrame(const PendingFrame&) = delete;
  PendingFrame& operator=(const PendingFrame&) = delete;
  ~PendingFrame() { Clear(); }

  bool empty() const { return bytes_.empty(); }
  std::string_view view() const { return bytes_; }
  void Append(std::string_view part);
  // Gives its memory back.
  void Clear();

 private:
  std::string bytes_;
  std::size_t counted_ = 0;
};

// A connection that speaks the transfer protocol. Requests that change something get no answers of
// their own: the next kSync is answered when all of them are durable. After a request that failed,
// the others up to the next kSync are not run.
class TransferSession final : public Session {
 public:
  TransferSession(TransferProtocol& protocol, Wire& wire) : protocol_(protocol), wire_(wire) {}
  ~TransferSession() override;

  InputResult OnInput(std::string_view bytes, Scope scope) override;
  void OnEof() override {}
  bool Leave() override;
  bool Idle() const override { return !walk_ && pending_.empty() && to_skip_ == 0; }
  std::string_view ClientId() const override { return "transfer"; }

  // --- For the requests
  Engine& engine() { return protocol_.engine(); }
  Transfers& transfers() { return engine().transfers(); }
  Output& out() { return wire_.out(); }
  RecordFrames& frames() { return frames_; }
  Time now() const { return wire_.Now(); }
  const TransferProtocol::Classes& classes() const { return protocol_.classes(); }
  const std::string& transfer() const { return transfer_; }
  bool May(std::uint8_t rights, std::string_view tube) const;
  bool MayAdmin() const;
  // Makes the connection the user of a transfer; false: another connection is.
  bool Use(const std::string& name);
  void UseTube(const std::string& tube);
  // The requests behind it wait until it has ended.
  void Begin(Slices walk) { walk_ = std::move(walk); }
  // A change was made, or could not be.
  void Note(const Transfers::Change& change, bool has_id = false);
  void Fail(Problem problem, std::string text);
  bool failed() const { return done_.problem != Problem::kNone; }
  void Answer();
  void Refuse(Problem problem, std::string text);

  std::size_t SendMark(const std::string& name, const Mark& mark, bool known);
  // Returns the bytes of the frame.
  template <typename Message>
  std::size_t Send(Type type, const Message& message) {
    std::string frame;
    AppendFrame(frame, type, message);
    out().Append(frame);
    return frame.size();
  }

 private:
  InputResult Run(std::string_view bytes);
  // Takes the first frame from the front of `bytes`; if it came in parts, it lies in `pending_`.
  Cut Next(std::string_view& bytes, Frame& frame);
  void Gather(std::string_view& bytes, std::size_t need);

  TransferProtocol& protocol_;
  Wire& wire_;
  RecordFrames frames_;
  bool greeted_ = false;
  bool broken_ = false;
  PendingFrame pending_;
  std::size_t to_skip_ = 0;  // bytes of a frame for which there is no memory
  std::string transfer_;
  Ack done_;  // since the last kSync
  Lsn lsn_ = 0;
  Slices walk_;  // a request that takes long
  std::map<std::string, TubeUse, std::less<>> tubes_;
};

// Runs one request of the table in requests.cc.
void RunRequest(TransferSession& session, const Frame& frame);

}  // namespace gearstalk::transfer
