#include "admin/move/session/session.h"

#include <utility>

#include "broker/transfer/messages.h"

namespace gearstalk::transfer {
namespace {

// Bytes of a frame that are taken although limits.memory is reached: any request but a large job.
constexpr std::size_t kAlwaysTaken = 64 * 1024;

}  // namespace

Claim TransferProtocol::Sniff(std::string_view bytes) const {
  if (bytes.starts_with(kGreeting)) return Claim::kYes;
  return kGreeting.starts_with(bytes) ? Claim::kMaybe : Claim::kNo;
}

std::unique_ptr<Session> TransferProtocol::NewSession(Wire& wire) {
  return std::make_unique<TransferSession>(*this, wire);
}

void PendingFrame::Append(std::string_view part) {
  bytes_ += part;
  CountJobMemory(static_cast<std::ptrdiff_t>(bytes_.capacity() - counted_));
  counted_ = bytes_.capacity();
}

void PendingFrame::Clear() {
  CountJobMemory(-static_cast<std::ptrdiff_t>(std::exchange(counted_, 0)));
  bytes_ = std::string();
}

TubeUse::TubeUse(Engine& engine, const Wire& wire, std::string_view tube)
    : engine_(engine), wire_(wire) {
  engine_.Join(*this);
  engine_.Use(*this, tube);
}

TubeUse::~TubeUse() { engine_.Leave(wire_.Now(), *this); }

TransferSession::~TransferSession() {
  if (transfer_.empty()) return;
  transfers().Release();
  protocol_.GiveTransfer(transfer_, lsn_);
}

bool TransferSession::May(std::uint8_t rights, std::string_view tube) const {
  const auto& access = wire_.peer().access;
  return access == nullptr || (access->Allows(rights, tube) && access->Allows(right::kAdmin, tube));
}

bool TransferSession::MayAdmin() const {
  const auto& access = wire_.peer().access;
  return access == nullptr || access->AllowsSome(right::kAdmin);
}

bool TransferSession::Use(const std::string& name) {
  if (name == transfer_) return true;
  if (!protocol_.TakeTransfer(name)) return false;
  if (transfer_.empty()) {
    transfers().Use();
  } else {
    protocol_.GiveTransfer(transfer_, lsn_);
  }
  transfer_ = name;
  out().HoldUntil(protocol_.changed());
  return true;
}

void TransferSession::UseTube(const std::string& tube) {
  tubes_.try_emplace(tube, engine(), wire_, tube);
}

bool TransferSession::Leave() {
  for (std::size_t step = 0; step < kSliceItems && !tubes_.empty(); ++step)
    tubes_.erase(tubes_.begin());
  return tubes_.empty();
}

InputResult TransferSession::OnInput(std::string_view bytes, Scope /*scope*/) {
  std::size_t used = 0;
  if (!greeted_) {
    if (bytes.size() < kGreeting.size()) return {0, Next::kBytes};
    if (!bytes.starts_with(kGreeting)) {
      out().Append("expected 'gearstalk-transfer 1'\r\n");
      return {bytes.size(), Next::kClose};
    }
    greeted_ = true;
    used = kGreeting.size();
    out().Append(kGreeting);
    if (!MayAdmin()) {
      wire_.OnRefused(Refusal::kRights, {.command = "transfer"});
      Refuse(Problem::kNotAllowed, "transfers need the right admin");
      return {bytes.size(), Next::kClose};
    }
  }
  const InputResult result = Run(bytes.substr(used));
  return {used + result.bytes, result.next};
}

InputResult TransferSession::Run(std::string_view bytes) {
  const std::size_t all = bytes.size();
  for (Turn turn(wire_.share(), out());; turn.Count()) {
    if (broken_) return {all, Next::kClose};
    if (turn.Over(out())) return {all - bytes.size(), Next::kYield};
    if (walk_) {
      walk_.Advance();
      return {all - bytes.size(), Next::kYield};
    }
    Frame frame;
    switch (Next(bytes, frame)) {
      case Cut::kMore:
        return {all - bytes.size(), Next::kBytes};
      case Cut::kBad:
        broken_ = true;
        Refuse(Problem::kBad, "bytes that are not a frame");
        break;
      case Cut::kWhole:
        RunRequest(*this, frame);
        pending_.Clear();
        break;
    }
  }
}

Cut TransferSession::Next(std::string_view& bytes, Frame& frame) {
  for (;;) {
    const std::size_t skipped = std::min(to_skip_, bytes.size());
    to_skip_ -= skipped;
    bytes.remove_prefix(skipped);
    std::string_view rest = pending_.empty() ? bytes : pending_.view();
    std::size_t need = 0;
    const Cut cut = TakeFrame(rest, frame, need);
    if (cut != Cut::kMore) {
      if (pending_.empty()) bytes = rest;
      return cut;
    }
    if (bytes.empty()) return cut;
    Gather(bytes, need);
  }
}

// Adds to `pending_` what has come of a frame of `need` bytes. A frame for which there is no memory
// fails, and is skipped.
void TransferSession::Gather(std::string_view& bytes, std::size_t need) {
  const std::size_t size = pending_.view().size();
  const std::string_view part = bytes.substr(0, need - size);
  if (size + part.size() > kAlwaysTaken && engine().MemoryFull()) {
    to_skip_ = need - size;
    pending_.Clear();
    if (!failed()) Note({engine().RefuseBody()});
    return;
  }
  pending_.Append(part);
  bytes.remove_prefix(part.size());
}

std::size_t TransferSession::SendMark(const std::string& name, const Mark& mark, bool known) {
  return Send(Type::kMark, MarkOf{.name = name,
                                  .mark = mark.Encode(),
                                  .held = transfers().HeldOf(name),
                                  .known = known,
                                  .persistent = engine().journal().Persistent(),
                                  .next_id = engine().next_id(),
                                  .class_high = classes().high,
                                  .class_normal = classes().normal,
                                  .class_low = classes().low});
}

void TransferSession::Note(const Transfers::Change& change, bool has_id) {
  if (!change.ok()) {
    switch (change.code) {
      case Code::kDraining:
        return Fail(Problem::kBusy, "the broker is draining");
      case Code::kOutOfMemory:
        return Fail(Problem::kBusy, "limits.memory of the broker is reached");
      case Code::kJournal:
        return Fail(Problem::kBusy,
                    "the journal takes nothing: " + engine().journal().Health().message());
      case Code::kDiskLow:
        return Fail(Problem::kBusy, "the disk of the broker has less free than limits.free_disk");
      case Code::kNotIgnored:
        return Fail(Problem::kBusy, "the job before it is not settled");
      case Code::kInvalid:
        return Fail(Problem::kBad, "a job or a tube with a value that is out of range");
      case Code::kInUse:
        return Fail(Problem::kInUse,
                    "the transfer has held jobs: the command that began it settles them; where its "
                    "server is lost, --held commit makes them jobs, and --held drop drops them");
      default:
        return Fail(Problem::kBad, "there is no such job or transfer");
    }
  }
  lsn_ = std::max(lsn_, change.lsn);
  ++done_.requests;
  if (has_id) done_.ids.push_back(change.id);
}

void TransferSession::Fail(Problem problem, std::string text) {
  done_.problem = problem;
  done_.text = std::move(text);
}

void TransferSession::Answer() {
  if (const Mark* mark = transfers().Find(transfer_)) done_.settled = mark->settled;
  out().HoldUntil(lsn_);
  Send(Type::kAck, done_);
  done_ = {};
}

void TransferSession::Refuse(Problem problem, std::string text) {
  Send(Type::kRefused, Ack{.problem = problem, .text = std::move(text)});
}

}  // namespace gearstalk::transfer
