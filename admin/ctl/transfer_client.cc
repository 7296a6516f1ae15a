#include "admin/ctl/transfer_client.h"

#include <chrono>
#include <thread>
#include <utility>

namespace gearstalk::ctl {

using transfer::Ack;
using transfer::Frame;
using transfer::Type;

namespace {

// While another connection works on the transfer: five seconds in all.
constexpr int kOpenTries = 50;
constexpr unsigned kOpenPause = 100;  // milliseconds

}  // namespace

void Channel::Sleep(unsigned milliseconds) {
  std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
}

Status AsStatus(const Ack& refusal) {
  switch (refusal.problem) {
    case transfer::Problem::kNone:
      return {};
    case transfer::Problem::kOtherSource:
      return {Code::kInUse, refusal.text};
    case transfer::Problem::kBusy:
      return {Code::kDraining, refusal.text};
    default:
      return {Code::kIo, refusal.text};
  }
}

Result<std::unique_ptr<TransferClient>> TransferClient::Connect(const Target& target,
                                                                Bodies bodies) {
  Result<std::unique_ptr<Channel>> channel =
      target.data_dir.empty() ? ctl::Connect(target) : OpenDirectory(target.data_dir, bodies);
  if (!channel.ok()) return channel.status();
  return Over(std::move(channel.value()));
}

Result<std::unique_ptr<TransferClient>> TransferClient::Over(std::unique_ptr<Channel> channel) {
  auto client = std::make_unique<TransferClient>(std::move(channel));
  if (Status status = client->Greet(); !status.ok()) return status;
  return client;
}

Status TransferClient::Greet() {
  out_ = transfer::kGreeting;
  if (Status status = Send(); !status.ok()) return status;
  while (in_.size() < transfer::kGreeting.size() && in_.find('\n') == std::string::npos) {
    Status status = channel_->Read(in_, kSilenceMs);
    if (status.code() == Code::kNotFound) return {Code::kIo, channel_->Name() + " is silent"};
    if (!status.ok()) return status;
  }
  if (!in_.starts_with(transfer::kGreeting)) {
    return {Code::kInvalid, channel_->Name() + " is no gearstalkd that knows transfers"};
  }
  used_ = transfer::kGreeting.size();
  return {};
}

Status TransferClient::Send() {
  Status status = channel_->Write(out_);
  out_.clear();
  return status;
}

Result<Frame> TransferClient::Next() {
  for (;;) {
    std::string_view rest = std::string_view(in_).substr(used_);
    Frame frame;
    std::size_t need = 0;
    const transfer::Cut cut = transfer::TakeFrame(rest, frame, need);
    if (cut == transfer::Cut::kBad) return Status(Code::kIo, "the target sent no frame");
    if (cut == transfer::Cut::kWhole) {
      used_ = in_.size() - rest.size();
      return frame;
    }
    in_.erase(0, std::exchange(used_, 0));
    if (Status status = channel_->Read(in_); !status.ok() && status.code() != Code::kNotFound) {
      return status;
    }
  }
}

Result<std::string> TransferClient::KnownAs(const std::string& name, const IsOurs& ours) {
  std::string found;
  bool known = false;
  const auto visit = [&](const Frame& frame) {
    transfer::MarkOf of;
    transfer::Mark mark;
    if (!ReadFields(frame.fields, of) || !transfer::Mark::Decode(of.mark, mark)) {
      return Status(Code::kIo, "a mark that is damaged");
    }
    known = known || of.name == name;
    if (ours(of.name, mark) && (found.empty() || of.held > 0)) found = of.name;
    return Status();
  };
  const Result<transfer::End> end = Ask(Type::kTransfers, transfer::End{}, visit);
  if (!end.ok()) return end.status();
  return known || found.empty() ? name : found;
}

// The broker may not have seen yet that the connection of a killed tool has ended.
Result<transfer::MarkOf> TransferClient::Open(const transfer::Opening& opening) {
  for (int tries = 1;; ++tries) {
    Add(Type::kOpen, opening);
    if (Status status = Send(); !status.ok()) return status;
    const Result<Frame> frame = Next();
    if (!frame.ok()) return frame.status();
    Ack refusal;
    transfer::MarkOf mark;
    if (frame.value().type == Type::kMark && ReadFields(frame.value().fields, mark)) {
      if (mark.class_low > 0) classes_ = {mark.class_high, mark.class_normal, mark.class_low};
      return mark;
    }
    if (frame.value().type != Type::kRefused || !ReadFields(frame.value().fields, refusal)) {
      return Status(Code::kIo, "the target answers something else");
    }
    if (refusal.problem != transfer::Problem::kInUse || tries == kOpenTries) {
      refused_ = refusal.problem != transfer::Problem::kBusy;
      return AsStatus(refusal);
    }
    channel_->Sleep(kOpenPause);
  }
}

void TransferClient::AddIds(Type type, std::vector<std::uint64_t> ids) {
  Add(type, transfer::IdList{std::move(ids)});
}

void TransferClient::AddMoved(std::vector<std::uint64_t> ids) {
  const std::uint64_t moved = ids.size();
  AddIds(Type::kCommit, std::move(ids));
  Add(Type::kAdvance, transfer::Mark{.moved = moved});
}

Status TransferClient::SendSync() {
  AppendFrame(out_, Type::kSync);
  return Send();
}

Result<Ack> TransferClient::ReadAck() {
  const Result<Frame> frame = Next();
  if (!frame.ok()) return frame.status();
  Ack ack;
  const bool known = frame.value().type == Type::kAck || frame.value().type == Type::kRefused;
  if (known && ReadFields(frame.value().fields, ack)) {
    not_allowed_ = not_allowed_ || ack.problem == transfer::Problem::kNotAllowed;
    return ack;
  }
  return Status(Code::kIo, "the target answers something else");
}

Result<Ack> TransferClient::Sync() {
  if (Status status = SendSync(); !status.ok()) return status;
  Result<Ack> ack = ReadAck();
  if (ack.ok() && ack->problem != transfer::Problem::kNone) return AsStatus(ack.value());
  return ack;
}

Status TransferClient::Read(const Frame& frame, Record& record, transfer::Item& item) {
  const Status read = frames_.Read(frame, record, item);
  return read.ok() ? Status() : Status(Code::kIo, "the target sent " + read.message());
}

Result<transfer::End> TransferClient::ReadAll(const Visit& visit) {
  if (Status status = Send(); !status.ok()) return status;
  for (;;) {
    const Result<Frame> frame = Next();
    if (!frame.ok()) return frame.status();
    transfer::End end;
    Ack refusal;
    if (frame.value().type == Type::kEnd) {
      if (ReadFields(frame.value().fields, end)) return end;
      return Status(Code::kIo, "the target sent no end");
    }
    if (frame.value().type == Type::kRefused) {
      if (ReadFields(frame.value().fields, refusal)) return AsStatus(refusal);
      return Status(Code::kIo, "the target refuses");
    }
    if (Status status = visit(frame.value()); !status.ok()) return status;
  }
}

}  // namespace gearstalk::ctl
