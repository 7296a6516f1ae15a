#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "admin/move/channel.h"
#include "broker/transfer/frame.h"

namespace gearstalk::ctl {

// Priorities of Gearman's classes HIGH, NORMAL and LOW.
struct Classes {
  std::uint32_t high = 512, normal = 65536, low = 131072;
};

struct OpenedTransfer {
  transfer::Mark mark;
  bool known = false;       // it was there before
  bool persistent = false;  // the broker keeps jobs on a disk
};

// The tool's side of the transfer protocol. Requests that change something are buffered until Sync.
class TransferClient : public Client {
 public:
  // Connects to a broker or opens the directory of the target.
  static Result<std::unique_ptr<TransferClient>> Connect(const Target& target,
                                                         Access access = Access::kChange);
  // Greets the other side of the channel.
  static Result<std::unique_ptr<TransferClient>> Over(std::unique_ptr<Channel> channel);
  using Client::Client;

  // `name` if the broker knows it or no other transfer is ours, else that one's name. Of several,
  // one with held jobs.
  using IsOurs = std::function<bool(const std::string& name, const transfer::Mark&)>;
  Result<std::string> KnownAs(const std::string& name, const IsOurs& ours);
  Result<OpenedTransfer> Open(const transfer::Opening& opening);
  // The mark as it is now.
  Result<transfer::Mark> ReadMark(const std::string& name);

  template <typename Message>
  void Add(transfer::Type type, const Message& message) {
    transfer::AppendFrame(out_, type, message);
  }
  void Add(transfer::Type type, const Record& record) { frames_.Append(out_, type, record); }
  void AddIds(transfer::Type type, std::vector<std::uint64_t> ids);
  // Commits held jobs, which have moved with that: the mark counts them, and takes `outcomes`.
  void AddMoved(std::vector<std::uint64_t> ids, const transfer::Mark& outcomes = {});
  void AddBytes(std::string_view frames) { out_ += frames; }
  // Sends what was added and asks for its answer, which ReadAck waits for.
  Status SendSync();
  Result<transfer::Ack> ReadAck();
  // Both. A problem is an error.
  Result<transfer::Ack> Sync();

  // Asks, and calls `visit` for each frame up to kEnd, which is returned. The views of a frame hold
  // during the call.
  using Visit = std::function<Status(const transfer::Frame&)>;
  template <typename Message>
  Result<transfer::End> Ask(transfer::Type type, const Message& message, const Visit& visit) {
    transfer::AppendFrame(out_, type, message);
    return ReadAll(visit);
  }

  // The views hold until the next call, and during the visit of the frame. kIo: damaged.
  Status Read(const transfer::Frame& frame, Record& record) {
    transfer::Item item;
    return Read(frame, record, item);
  }
  Status Read(const transfer::Frame& frame, Record& record, transfer::Item& item);

  // What Gearman's classes are at the broker, once a transfer was opened.
  const Classes& classes() const { return classes_; }
  // The last Open was refused for good.
  bool refused() const { return refused_; }
  // Something was refused that needs a right which this connection does not have.
  bool not_allowed() const { return not_allowed_; }

  Status Close() { return channel_->Close(); }

 private:
  Status Greet();
  // The next frame; its views hold until the next call.
  Result<transfer::Frame> Next();
  Result<transfer::End> ReadAll(const Visit& visit);

  transfer::RecordFrames frames_;
  Classes classes_{};
  bool refused_ = false, not_allowed_ = false;
};

Status AsStatus(const transfer::Ack& refusal);
// Adds what became of one job to a change of a mark.
void AddOutcome(transfer::Mark& change, std::string key, std::string_view tube, std::uint64_t job,
                transfer::OutcomeKind kind, std::string_view text);

}  // namespace gearstalk::ctl
