#include "proto_gearman/session.h"

#include <algorithm>
#include <iterator>
#include <variant>

#include "broker/engine/incoming_job.h"
#include "proto_gearman/payload.h"
#include "proto_gearman/text_admin.h"
#include "proto_gearman/text_line.h"

namespace gearstalk::gearman {
namespace {

constexpr std::size_t kMaxClientId = 127;  // bytes, as in gearmand
// The size from which repeated data is sent in blocks, and the size of a block, in bytes.
constexpr std::size_t kRepeated = 64 * 1024;

Pin PinOf(std::shared_ptr<const void> kept) {
  return Pin(std::make_unique<std::shared_ptr<const void>>(std::move(kept)));
}

// A payload that is discarded.
class Dropped {
 public:
  explicit Dropped(std::uint32_t size) : missing_(size) {}
  std::size_t Add(std::string_view bytes) {
    const std::size_t size = std::min(bytes.size(), missing_);
    missing_ -= size;
    return size;
  }
  std::span<char> Space() { return {}; }
  void Filled(std::size_t size) { missing_ -= size; }
  bool complete() const { return missing_ == 0; }
  static bool failed() { return false; }
  std::size_t missing() const { return missing_; }

 private:
  std::size_t missing_;
};

}  // namespace

// A packet that is still arriving. Its header and arguments are known; its data is read into its
// place.
struct Session::Arriving {
  PacketType type;
  const Error* error;     // what it will be answered with; nullptr: it will be run
  std::string arguments;  // with their NULs
  std::variant<Dropped, IncomingJob, Payload> data;

  std::size_t missing() const {
    return std::visit([](const auto& part) -> std::size_t { return part.missing(); }, data);
  }
  bool failed() const {
    return std::visit([](const auto& part) { return part.failed(); }, data);
  }
};

// A submit that waits to be compared.
struct Session::Submitting {
  JobPtr job;
  Submission submission;
  std::string tube, reducer;
  ComparisonPtr compared;
};

Session::Session(const Context& context, Wire& wire)
    : context_(context), wire_(wire), peer_(wire.peer()), exceptions_(context.options.exceptions) {}

Session::~Session() {
  while (!Leave()) continue;
}

void Session::JoinEngine() {
  if (joined_) return;
  joined_ = true;
  engine().Join(*this);
}

bool Session::Leave() {
  body_.reset();
  submit_.reset();
  if (joined_ && engine().Forget(*this) && engine().Leave(Now(), *this)) joined_ = false;
  return !joined_;
}

InputResult Session::OnInput(std::string_view bytes, Scope scope) {
  JoinEngine();
  std::string_view rest = bytes;
  const Output& output = out();
  Turn turn(wire_.share(), output, engine().effort());
  Next next = Next::kGoOn;
  do {
    next = Advance(rest, scope);
    turn.Count();
    const bool enough = turn.Over(output, engine().effort());
    if (next == Next::kGoOn && scope == Scope::kAll && enough && !rest.empty()) next = Next::kYield;
  } while (next == Next::kGoOn && scope == Scope::kAll);
  if (next == Next::kGoOn) next = Next::kBytes;
  yielded_ = next == Next::kYield;
  if (eof_ && !yielded_ && submit_ == nullptr && !Leave()) next = Next::kYield;
  return {bytes.size() - rest.size(), next};
}

// Handles one message, or as much of it as has arrived. What `inline` stands at becomes a part of
// OnInput: the guard of its stack is checked once for all packets of a read.
inline Next Session::Advance(std::string_view& rest, Scope scope) {
  if (body_ != nullptr) return GoOnWithBody();
  if (submit_ != nullptr) return GoOnWithSubmit();
  if (answer_) return GoOnAnswering();
  const Next next = TakeMessage(rest, scope);
  return answer_ ? GoOnAnswering() : next;
}

inline Next Session::TakeMessage(std::string_view& rest, Scope scope) {
  if (arriving_ != nullptr) return TakeArriving(rest);
  if (rest.empty()) return Next::kBytes;
  const bool packet = rest.front() == '\0' && scope != Scope::kUnknownLine;
  return packet ? TakePacket(rest) : TakeLine(rest, scope);
}

Next Session::TakeLine(std::string_view& rest, Scope scope) {
  TextLine line;
  const Parsed parsed = ParseLine(rest, line);
  if (parsed == Parsed::kNeedMore) return Next::kBytes;
  if (scope == Scope::kUnknownLine && line.size > 0) {
    AnswerUnknownLine(*this, line);
  } else if (parsed == Parsed::kMalformed) {
    return Next::kClose;
  } else {
    RunAdminLine(*this, line);
  }
  rest.remove_prefix(line.size);
  return Next::kGoOn;
}

void Session::AwaitBody(Job& job, PacketType asked, PacketType reply) {
  body_ = std::make_unique<Pending>(*this, asked, reply, job.tube().name());
  engine().bodies().Bring(job, *body_, BodyUse::kReply, /*taken=*/true);
}

Next Session::GoOnWithBody() {
  if (body_->coming()) return Next::kWait;
  const std::unique_ptr<Pending> pending = std::move(body_);
  if (pending->state() == BodyWait::State::kHere) {
    engine().Given(Now(), *this, pending->job()->id());
    AppendAssign(*this, pending->reply, pending->function, *pending->job());
    engine().bodies().LetGo(*pending);
  } else {
    Request again{.type = pending->asked, .arguments = {}, .data = {}, .job = nullptr};
    CommandOf(pending->asked).handler(*this, again);
  }
  return Next::kGoOn;
}

void Session::Submit(JobPtr job, const Submission& submission) {
  ComparisonPtr compared;
  const Added added = engine().Submit(Now(), *this, std::move(job), submission, &compared);
  if (!Waits(compared)) return ReplySubmitted(*this, added, submission.tube);
  submit_ = std::make_unique<Submitting>(Submitting{.job = std::move(job),
                                                    .submission = submission,
                                                    .tube = std::string(submission.tube),
                                                    .reducer = std::string(submission.reducer),
                                                    .compared = std::move(compared)});
  submit_->submission.tube = submit_->tube;
  submit_->submission.reducer = submit_->reducer;
}

Next Session::GoOnWithSubmit() {
  if (Waits(submit_->compared)) return Next::kWait;
  const Added added = engine().Submit(Now(), *this, std::move(submit_->job), submit_->submission,
                                      &submit_->compared);
  if (Waits(submit_->compared)) return Next::kWait;
  const std::unique_ptr<Submitting> submitted = std::move(submit_);
  ReplySubmitted(*this, added, submitted->tube);
  return Next::kGoOn;
}

// Reads header and arguments of a packet; sets the error if the packet is refused.
Parsed Session::ParseHead(std::string_view bytes, Head& head) {
  const Parsed parsed = ParseHeader(bytes, head.header);
  if (parsed != Parsed::kComplete) return parsed;
  const auto [is_request, type, size] = head.header;
  const Command& command = CommandOf(type);
  if (!is_request || command.handler == nullptr) {
    head.error = is_request ? &kInvalidCommand : &kInvalidMagic;
    return Parsed::kComplete;
  }
  const std::string_view shown = bytes.substr(kHeaderSize);
  const Parsed cut = ParseArguments(shown, size, command.shape, head.arguments);
  if (cut == Parsed::kComplete) {
    const std::uint32_t data = size - head.arguments.size;
    head.error = Refusal(type, head.arguments, data, context_.options);
    if (head.error == nullptr && command.workload) head.error = TubeRefusal(head.arguments, data);
    if (peer_.access != nullptr && head.error == nullptr) {
      head.error = Denial(command, head.arguments);
    }
  }
  return cut;
}

// The error if the function accepts no such job; nullptr if it does.
const Error* Session::TubeRefusal(const Arguments& arguments, std::uint32_t data) const {
  const std::uint32_t most = context_.engine.policies().MaxJobSize(arguments.at[0]);
  return most > 0 && data > most ? &kWorkloadTooLarge : nullptr;
}

inline Next Session::TakePacket(std::string_view& rest) {
  Head head;
  const Parsed parsed = ParseHead(rest, head);
  if (parsed == Parsed::kNeedMore) return Next::kBytes;
  if (parsed == Parsed::kMalformed) return Next::kClose;
  rest.remove_prefix(kHeaderSize);
  const std::string_view payload = rest.substr(0, head.header.size);
  if (payload.size() < head.header.size) {
    BeginArriving(head, rest);
    return TakeArriving(rest);
  }
  Request request{.type = head.header.type,
                  .arguments = head.arguments,
                  .data = payload.substr(head.arguments.size),
                  .job = nullptr};
  Run(request, head.error);
  rest.remove_prefix(head.header.size);
  return Next::kGoOn;
}

// Decides where the data goes. `rest` begins with the arguments, which are taken from there.
void Session::BeginArriving(const Head& head, std::string_view& rest) {
  const Command& command = CommandOf(head.header.type);
  const std::uint32_t data = head.header.size - head.arguments.size;
  arriving_ = std::make_unique<Arriving>(
      Arriving{.type = head.header.type,
               .error = head.error,
               .arguments = std::string(rest.substr(0, head.arguments.size)),
               .data = Dropped(data)});
  rest.remove_prefix(head.arguments.size);
  if (head.error != nullptr || !command.shape.data) return;
  if (command.workload) {
    arriving_->data.emplace<IncomingJob>(data, head.arguments.at[1], 0U);
  } else {
    arriving_->data.emplace<Payload>(data);
  }
}

Next Session::TakeArriving(std::string_view& rest) {
  const auto take = [&rest](auto& data) {
    rest.remove_prefix(data.Add(rest));
    return data.complete();
  };
  const bool taken = arriving_->error == nullptr;
  if (taken && arriving_->missing() > rest.size() && MayNotGrow()) DropArriving();
  bool complete = std::visit(take, arriving_->data);
  if (arriving_->failed()) {
    DropArriving();
    complete = std::visit(take, arriving_->data);
  }
  if (!complete) return Next::kBytes;
  const std::unique_ptr<Arriving> arrived = std::exchange(arriving_, nullptr);
  Request request{.type = arrived->type, .arguments = {}, .data = {}, .job = nullptr};
  const std::string& arguments = arrived->arguments;
  const auto size = static_cast<std::uint32_t>(arguments.size());
  if (size > 0) ParseArguments(arguments, size, CommandOf(arrived->type).shape, request.arguments);
  if (auto* job = std::get_if<IncomingJob>(&arrived->data)) request.job = job->Take();
  request.gathered = std::get_if<Payload>(&arrived->data);
  if (request.gathered != nullptr) request.data = request.gathered->view();
  Run(request, arrived->error);
  return Next::kGoOn;
}

// There is no room for the rest of the packet.
void Session::DropArriving() {
  const Code code = engine().RefuseBody();
  if (CommandOf(arriving_->type).workload) NoteJobRefused(code, UpToNul(arriving_->arguments));
  arriving_->error = &ErrorOf(code);
  arriving_->data = Dropped(static_cast<std::uint32_t>(arriving_->missing()));
}

void Session::Run(Request& request, const Error* error) {
  if (error != nullptr) return Refuse(request, *error);
  ++context_.counts.packets[static_cast<std::uint32_t>(request.type)];
  const Command& command = CommandOf(request.type);
  NoteCommand(command.name, request.arguments.at[0]);
  command.handler(*this, request);
}

void Session::Refuse(const Request& request, const Error& error) {
  const Refused what{.command = CommandOf(request.type).name, .tube = request.arguments.at[0]};
  if (&error == &kNotAllowed) wire_.OnRefused(gearstalk::Refusal::kRights, what);
  if (&error == &kWorkloadTooLarge) wire_.OnRefused(gearstalk::Refusal::kJobSize, what);
  ReplyError(error);
}

std::span<char> Session::BodySpace() {
  if (arriving_ == nullptr || MayNotGrow()) return {};
  return std::visit([](auto& data) { return data.Space(); }, arriving_->data);
}

void Session::OnBody(std::size_t size) {
  std::visit([size](auto& data) { data.Filled(size); }, arriving_->data);
}

// As in gearmand a client that shut down its sending side is gone: others get the jobs it runs, and
// it gets no more results. What it has submitted is submitted.
void Session::OnEof() {
  eof_ = true;
  if (!yielded_ && submit_ == nullptr) Leave();
}

void Session::SetClientId(std::string_view id) { client_id_ = id.substr(0, kMaxClientId); }

// The newest first, as gearmand prints them.
std::size_t Session::AppendQueues(std::string& out, std::size_t from, std::size_t most) const {
  const std::size_t all = watched().size();
  const std::size_t count = std::min(most, all - std::min(from, all));
  for (std::size_t i = from; i < from + count; ++i) {
    out += ' ';
    AppendWord(out, watched().begin()[static_cast<std::ptrdiff_t>(all - 1 - i)]->tube.name());
  }
  return count;
}

void Session::OnProgress(const Job& job, const Progress& progress, std::uint64_t times) {
  PacketType type = PacketType::kWorkData;
  if (progress.kind == Progress::Kind::kWarning) type = PacketType::kWorkWarning;
  if (progress.kind == Progress::Kind::kStatus) type = PacketType::kWorkStatus;
  Hand(type, job, progress.data, times);
}

void Session::OnFinished(const Job& job, const Finish& finish, std::uint64_t times) {
  out().HoldUntil(finish.lsn);
  if (finish.kind == Finish::Kind::kCompleted) {
    Hand(PacketType::kWorkComplete, job, finish.data, times);
  } else if (finish.kind == Finish::Kind::kException && exceptions_) {
    Hand(PacketType::kWorkException, job, finish.data, times);
  } else {
    HandOften(PacketType::kWorkFail, {HandleOf(job.id())}, times);
  }
}

// Sends the packet `times` times, as often as the client joined the job.
void Session::Hand(PacketType type, const Job& job, const ReportData& data, std::uint64_t times) {
  const HandleText handle = HandleOf(job.id());
  if (data.size() < (times == 1 ? Output::kShareFrom : kRepeated)) {
    return HandOften(type, {handle, data}, times);
  }
  for (; times > 0 && out().unasked() < wire_.MostUnasked(); --times) HandLong(type, handle, data);
}

// All waiting clients share one copy of long data.
void Session::HandLong(PacketType type, std::string_view handle, const ReportData& data) {
  const std::size_t before = out().size();
  const auto& kept = data.Keep();
  AppendPacketBeforeData(out(), type, {handle}, data.size());
  out().AppendShared(data, PinOf(kept));
  out().NoteUnasked(out().size() - before);
}

// Sends the packet `times` times; if that is more than once, out of one block of copies. Stops at
// the limit of unrequested output, at which the server closes the connection.
void Session::HandOften(PacketType type, std::initializer_list<std::string_view> parts,
                        std::uint64_t times) {
  if (out().unasked() >= wire_.MostUnasked()) return;
  if (times == 1) {
    const std::size_t before = out().size();
    Reply(type, parts);
    return out().NoteUnasked(out().size() - before);
  }
  Output packet;
  AppendPacket(packet, type, parts);
  const std::string once = packet.TakeAll();
  const std::uint64_t copies = std::min<std::uint64_t>(kRepeated / once.size() + 1, times);
  std::string block;
  block.reserve(copies * once.size());
  for (std::uint64_t i = 0; i < copies; ++i) block += once;
  const auto kept = KeepText(block);
  while (times > 0 && out().unasked() < wire_.MostUnasked()) {
    const std::uint64_t some = std::min(copies, times);
    const std::string_view bytes = std::string_view(*kept).substr(0, some * once.size());
    out().AppendShared(bytes, PinOf(kept));
    out().NoteUnasked(bytes.size());
    times -= some;
  }
}

void Session::Reply(PacketType type, std::initializer_list<std::string_view> parts) {
  AppendPacket(out(), type, parts);
}

void Session::ReplyError(const Error& error) {
  Reply(PacketType::kError, {error.code, error.text});
}

bool Session::FailFollowsException(JobId id) {
  return id != 0 && id == std::exchange(excepted_, 0);
}

// The error with which a packet is refused; nullptr if it is allowed.
const Error* Session::Denial(const Command& command, const Arguments& arguments) {
  if (command.right == right::kNone) return nullptr;
  if (command.shape.arguments == 0) {
    watch_rights_.Apply(peer_.access, engine(), Now(), *this);
    return nullptr;
  }
  return peer_.access->Allows(command.right, arguments.at[0]) ? nullptr : &kNotAllowed;
}

}  // namespace gearstalk::gearman
