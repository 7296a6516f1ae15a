#include "admin/move/transfer_client.h"

#include <utility>

#include "broker/base/status.h"

namespace gearstalk::ctl {

using transfer::Ack;
using transfer::Frame;
using transfer::Type;

namespace {

// While another connection works on the transfer: five seconds in all.
constexpr int kOpenTries = 50;
constexpr unsigned kOpenPause = 100;  // milliseconds

}  // namespace

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

void AddOutcome(transfer::Mark& change, std::string key, std::string_view tube, std::uint64_t job,
                transfer::OutcomeKind kind, std::string_view text) {
  change.jobs.push_back({std::move(key), std::string(tube), job, kind, std::string(text)});
}

Result<std::unique_ptr<TransferClient>> TransferClient::Connect(const Target& target,
                                                                Access access) {
  std::unique_ptr<Channel> channel = GS_TRY(
      target.data_dir.empty() ? ctl::Connect(target) : OpenDirectory(target.data_dir, access));
  return Over(std::move(channel));
}

Result<std::unique_ptr<TransferClient>> TransferClient::Over(std::unique_ptr<Channel> channel) {
  auto client = std::make_unique<TransferClient>(std::move(channel));
  GS_TRY(client->Greet());
  return client;
}

Status TransferClient::Greet() {
  out_ = transfer::kGreeting;
  while (in_.size() < transfer::kGreeting.size() && in_.find('\n') == std::string::npos) {
    GS_TRY(Await());
  }
  if (!in_.starts_with(transfer::kGreeting)) {
    return {Code::kInvalid, channel_->Name() + " is no gearstalkd that knows transfers"};
  }
  used_ = transfer::kGreeting.size();
  return {};
}

Result<Frame> TransferClient::Next() {
  GS_TRY(Flush());
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
    GS_TRY(Await());
  }
}

Result<transfer::Mark> MarkIn(const transfer::MarkOf& of) {
  transfer::Mark mark;
  if (transfer::Mark::Decode(of.mark, mark)) return mark;
  return Status(Code::kIo, "a mark that is damaged");
}

Result<std::string> TransferClient::KnownAs(const std::string& name, const IsOurs& ours) {
  std::string found;
  bool known = false;
  const auto visit = [&](const Frame& frame) {
    transfer::MarkOf of;
    if (!ReadFields(frame.fields, of)) return Status(Code::kIo, "a mark that is damaged");
    const transfer::Mark mark = GS_TRY(MarkIn(of));
    known = known || of.name == name;
    if (ours(of.name, mark) && (found.empty() || of.held > 0)) found = of.name;
    return Status();
  };
  GS_TRY(Ask(Type::kTransfers, transfer::End{}, visit));
  return known || found.empty() ? name : found;
}

// The broker may not have seen yet that the connection of a killed tool has ended.
Result<OpenedTransfer> TransferClient::Open(const transfer::Opening& opening) {
  for (int tries = 1;; ++tries) {
    Add(Type::kOpen, opening);
    const Frame frame = GS_TRY(Next());
    Ack refusal;
    transfer::MarkOf of;
    if (frame.type == Type::kMark && ReadFields(frame.fields, of)) {
      if (of.class_low > 0) classes_ = {of.class_high, of.class_normal, of.class_low};
      transfer::Mark mark = GS_TRY(MarkIn(of));
      return OpenedTransfer{std::move(mark), of.known, of.persistent};
    }
    if (frame.type != Type::kRefused || !ReadFields(frame.fields, refusal)) {
      return Status(Code::kIo, "the target answers something else");
    }
    if (refusal.problem != transfer::Problem::kInUse || tries == kOpenTries) {
      refused_ = refusal.problem != transfer::Problem::kBusy;
      return AsStatus(refusal);
    }
    channel_->Sleep(kOpenPause);
  }
}

Result<transfer::Mark> TransferClient::ReadMark(const std::string& name) {
  const OpenedTransfer opened =
      GS_TRY(Open({.name = name, .create = false, .any_fingerprint = true}));
  return opened.mark;
}

void TransferClient::AddIds(Type type, std::vector<std::uint64_t> ids) {
  Add(type, transfer::IdList{std::move(ids)});
}

void TransferClient::AddMoved(std::vector<std::uint64_t> ids, const transfer::Mark& outcomes) {
  const std::uint64_t moved = ids.size();
  if (!outcomes.jobs.empty()) Add(Type::kAdvance, outcomes);
  AddIds(Type::kCommit, std::move(ids));
  Add(Type::kAdvance, transfer::Mark{.moved = moved});
}

Status TransferClient::SendSync() {
  AppendFrame(out_, Type::kSync);
  return Flush();
}

Result<Ack> TransferClient::ReadAck() {
  const Frame frame = GS_TRY(Next());
  Ack ack;
  const bool known = frame.type == Type::kAck || frame.type == Type::kRefused;
  if (known && ReadFields(frame.fields, ack)) {
    not_allowed_ = not_allowed_ || ack.problem == transfer::Problem::kNotAllowed;
    return ack;
  }
  return Status(Code::kIo, "the target answers something else");
}

Result<Ack> TransferClient::Sync() {
  GS_TRY(SendSync());
  Ack ack = GS_TRY(ReadAck());
  GS_TRY(AsStatus(ack));
  return ack;
}

Status TransferClient::Read(const Frame& frame, Record& record, transfer::Item& item) {
  const Status read = frames_.Read(frame, record, item);
  return read.ok() ? Status() : Status(Code::kIo, "the target sent " + read.message());
}

Result<transfer::End> TransferClient::ReadAll(const Visit& visit) {
  for (;;) {
    const Frame frame = GS_TRY(Next());
    transfer::End end;
    Ack refusal;
    if (frame.type == Type::kEnd) {
      if (ReadFields(frame.fields, end)) return end;
      return Status(Code::kIo, "the target sent no end");
    }
    if (frame.type == Type::kRefused) {
      if (ReadFields(frame.fields, refusal)) return AsStatus(refusal);
      return Status(Code::kIo, "the target refuses");
    }
    GS_TRY(visit(frame));
  }
}

}  // namespace gearstalk::ctl
