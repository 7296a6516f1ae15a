#include "proto_beanstalk/session.h"

#include "proto_beanstalk/reply.h"

namespace gearstalk::beanstalk {
namespace {

constexpr std::string_view kDefaultTube = "default";

// Bytes; the rest of a body is read into its place only if it is at least this long.
constexpr std::uint64_t kReadDirectFrom = 16 * 1024;

// The holder of a job may use its tube of answers and put there, whatever its rights are.
bool MayAnswer(const Command& command, std::string_view tube) {
  return (command.rights & right::kProduce) != 0 && TakesAnswers(tube);
}

}  // namespace

Session::Session(Protocol& protocol, Wire& wire)
    : protocol_(protocol), wire_(wire), peer_(wire.peer()) {
  engine().Join(*this);
  engine().Use(*this, kDefaultTube);
  engine().Watch(now(), *this, kDefaultTube);
}

Session::~Session() {
  while (!Leave()) continue;
}

bool Session::Leave() {
  pending_.reset();
  compared_.reset();
  put_.reset();
  return engine().Leave(now(), *this);
}

InputResult Session::OnInput(std::string_view bytes, Scope scope) {
  std::string_view rest = bytes;
  const Output& output = out();
  Turn turn(wire_.share(), output, engine().effort());
  const auto result = [&](Next next) { return InputResult{bytes.size() - rest.size(), next}; };
  for (;;) {
    const Next next = Step(rest, scope);
    turn.Count();
    if (next != Next::kGoOn) return result(next);
    if (state_ != State::kCommand) continue;
    if (scope != Scope::kAll || rest.empty()) return result(Next::kBytes);
    if (turn.Over(output, engine().effort())) return result(Next::kYield);
  }
}

// What `inline` stands at becomes a part of OnInput: the guard of its stack is checked once for all
// commands of a read.
inline Next Session::Step(std::string_view& rest, Scope scope) {
  switch (state_) {
    case State::kAfterCr:
      if (rest.starts_with('\n')) scope = Scope::kUnknownLine;
      [[fallthrough]];
    case State::kCommand:
      return RunCommand(rest, scope);
    case State::kBody:
      return ReadBody(rest);
    case State::kSkippingBody:
      return DropBody(rest);
    case State::kSkippingLine:
      return DropLine(rest);
    case State::kAnswering:
      return GoOnAnswering();
    case State::kAwaitingBody:
      return GoOnWithBody();
    case State::kComparing:
      return Waits(compared_) ? Next::kWait : PutJob();
    case State::kClosed:
      return Leave() ? Next::kClose : Next::kYield;
    case State::kAwaitingJob:
      break;
  }
  return Next::kWait;
}

inline Next Session::RunCommand(std::string_view& rest, Scope scope) {
  if (rest.empty()) return Next::kBytes;
  const Command* const command = FindCommand(rest);
  if (command == nullptr && scope != Scope::kUnknownLine) {
    return MayBecomeCommand(rest) ? Next::kBytes : Next::kForeign;
  }
  const Line line = NextLine(rest);
  if (line.kind == Line::Kind::kPartial) return Next::kBytes;
  state_ = State::kCommand;
  if (line.kind == Line::Kind::kTooLong) {
    state_ = State::kSkippingLine;
    return Next::kGoOn;
  }
  rest.remove_prefix(line.text.size() + 2);
  if (line.text.find('\0') != std::string_view::npos) return Reply(kBadFormat);
  if (command == nullptr) return Reply(kUnknownCommand);
  Arguments arguments;
  if (!ParseArguments(command->shape, line.text.substr(command->word.size()), arguments)) {
    return Reply(kBadFormat);
  }
  if (peer_.access != nullptr && !Permitted(*command, arguments)) {
    return Refuse(*command, arguments);
  }
  protocol_.Count(command->verb);
  if (Logs(LogLevel::kTrace)) wire_.OnCommand(command->name(), line.text);
  return command->handler(*this, arguments);
}

Next Session::Reply(std::string_view line) {
  out().Append(line);
  return Next::kGoOn;
}

void Session::NoteTooBig() {
  wire_.OnRefused(Refusal::kJobSize, {.command = "put", .tube = used()->name()});
}

// --- Bodies --------------------------------------------------------------------------------------

Next Session::AwaitBody(const Arguments& put) {
  draft_.emplace(put);
  state_ = State::kBody;
  return Next::kGoOn;
}

inline Next Session::ReadBody(std::string_view& rest) {
  if (draft_->job.missing() > rest.size() && MayNotGrow()) return RefuseBody();
  rest.remove_prefix(draft_->job.Add(rest));
  if (draft_->job.failed()) return RefuseBody();
  return draft_->job.complete() ? StoreBody() : Next::kBytes;
}

// There is no room for the rest of the body.
Next Session::RefuseBody() {
  const std::uint64_t missing = draft_->job.missing();
  draft_.reset();
  const Code code = engine().RefuseBody();
  NoteRefused(code);
  return SkipBody(missing, ErrorReply(code));
}

inline Next Session::StoreBody() {
  JobPtr job = draft_->job.Take();
  job->priority = draft_->priority;
  job->delay_s = draft_->delay_s;
  job->ttr_s = draft_->ttr_s;
  draft_.reset();
  state_ = BodyCrlf(*job).ends_with('\r') ? State::kAfterCr : State::kCommand;
  if (!BodyCrlf(*job).ends_with("\r\n")) {
    engine().SpoilPut();
    return Reply(kExpectedCrlf);
  }
  put_ = std::move(job);
  return PutJob();
}

inline Next Session::PutJob() {
  const Added added = engine().Put(now(), *this, std::move(put_), &compared_);
  const bool waits = Waits(compared_);
  state_ = waits ? State::kComparing : State::kCommand;
  if (waits) return Next::kWait;
  compared_.reset();
  return ReplyPut(*this, added);
}

std::span<char> Session::BodySpace() {
  if (!draft_ || draft_->job.missing() < kReadDirectFrom || MayNotGrow()) return {};
  return draft_->job.Space();
}

Next Session::SkipBody(std::uint64_t size, std::string_view reply) {
  to_skip_ = size;
  skip_reply_ = reply;
  state_ = State::kSkippingBody;
  return Next::kGoOn;
}

Next Session::DropBody(std::string_view& rest) {
  const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(to_skip_, rest.size()));
  rest.remove_prefix(size);
  to_skip_ -= size;
  if (to_skip_ > 0) return Next::kBytes;
  state_ = State::kCommand;
  return Reply(skip_reply_);
}

Next Session::DropLine(std::string_view& rest) {
  const Excess excess = SkipLine(rest);
  rest.remove_prefix(excess.size);
  if (!excess.ended) return Next::kBytes;
  state_ = State::kCommand;
  return Reply(kBadFormat);
}

// --- Waiting -------------------------------------------------------------------------------------

Next Session::AwaitJob(Time until) {
  reserve_until_ = until;
  state_ = State::kAwaitingJob;
  return Next::kWait;
}

void Session::EndWait() {
  state_ = State::kCommand;
  wire_.Resume();
}

void Session::OnReserved(Job& job, Lsn lsn) {
  const Next next =
      Reply(job, {.word = "RESERVED", .lsn = lsn, .taken = true, .until = reserve_until_});
  if (next == Next::kGoOn) EndWait();
}

Next Session::Reply(Job& job, const JobReply& reply) {
  if (job.has_body()) {
    Output& output = out();
    output.HoldUntil(reply.lsn);
    return WriteJob(output, reply.word, job);
  }
  return AwaitBodyOf(job, reply);
}

Next Session::AwaitBodyOf(Job& job, const JobReply& reply) {
  pending_ = std::make_unique<Pending>(*this, reply);
  engine().bodies().Bring(job, *pending_, BodyUse::kReply, reply.taken);
  state_ = State::kAwaitingBody;
  return Next::kWait;
}

Next Session::GoOnWithBody() {
  if (pending_->coming()) return Next::kWait;
  const std::unique_ptr<Pending> pending = std::move(pending_);
  state_ = State::kCommand;
  const JobReply& reply = pending->reply;
  if (pending->state() == BodyWait::State::kHere) {
    if (reply.taken) engine().Given(now(), *this, pending->job()->id());
    const Next next = Reply(*pending->job(), reply);
    engine().bodies().LetGo(*pending);
    return next;
  }
  return reply.until ? ReserveUntil(*this, *reply.until) : Reply(kInternalError);
}

void Session::OnDeadlineSoon() {
  out().Append(kDeadlineSoon);
  EndWait();
}

void Session::OnTimedOut() {
  out().Append(kTimedOut);
  EndWait();
}

Next Session::Close() {
  state_ = State::kClosed;
  return Next::kGoOn;
}

void Session::OnEof() {
  at_eof_ = true;
  if (state_ != State::kAwaitingJob) return;
  engine().StopWaiting(*this);
  OnTimedOut();
}

Next Session::Answer(Slices answer) {
  answer_ = std::move(answer);
  state_ = State::kAnswering;
  return GoOnAnswering();
}

Next Session::GoOnAnswering() {
  if (answer_.Advance()) return Next::kYield;
  state_ = State::kCommand;
  return Next::kGoOn;
}

std::size_t Session::AppendQueues(std::string& out, std::size_t from, std::size_t most) const {
  const std::size_t all = watched().size();
  const std::size_t count = std::min(most, all - std::min(from, all));
  for (std::size_t i = from; i < from + count; ++i) {
    out += ' ';
    out += watched().begin()[static_cast<std::ptrdiff_t>(i)]->tube.name();
  }
  return count;
}

// --- Connections with limited rights

bool Session::Permitted(const Command& command, const Arguments& arguments) {
  const Access& access = *peer_.access;
  switch (command.about) {
    case About::kNothing:
      break;
    case About::kBroker:
      return access.AllowsAll(command.rights);
    case About::kSomeTube:
      return access.AllowsSome(command.rights);
    case About::kUsed:
      return MayAnswer(command, used()->name()) || access.Allows(command.rights, used()->name());
    case About::kTube:
      return MayAnswer(command, arguments.tube) || access.Allows(command.rights, arguments.tube);
    case About::kWatchedTube:
      LeaveForbidden();
      return access.Allows(command.rights, arguments.tube);
    case About::kWatched:
      LeaveForbidden();
      return command.rights == right::kNone || !watched().empty();
    case About::kJob: {
      const Job* const job = engine().Find(arguments.id);
      if (job == nullptr || job->holder() == this) break;
      return access.Allows(command.rights, job->tube().name());
    }
  }
  return true;
}

std::string_view Session::TubeConcerned(const Command& command, const Arguments& arguments) {
  switch (command.about) {
    case About::kTube:
    case About::kWatchedTube:
      return arguments.tube;
    case About::kUsed:
      return used()->name();
    case About::kJob: {
      const Job* const job = engine().Find(arguments.id);
      return job == nullptr ? std::string_view() : job->tube().name();
    }
    default:
      return {};
  }
}

// The protocol has no error for missing rights. Every client takes this one for an error of the
// command, and can go on using the connection.
Next Session::Refuse(const Command& command, const Arguments& arguments) {
  wire_.OnRefused(Refusal::kRights,
                  {.command = command.name(), .tube = TubeConcerned(command, arguments)});
  if (!command.action.empty()) {
    NoteAct({.action = command.action,
             .tube = TubeConcerned(command, arguments),
             .job = arguments.id,
             .result = "forbidden"});
  }
  if (command.verb != Verb::kPut) return Reply(kUnknownCommand);
  if (arguments.tail) return Reply(kBadFormat);
  return SkipBody(std::uint64_t{arguments.body_size} + 2, kUnknownCommand);
}

}  // namespace gearstalk::beanstalk
