#include "broker/postgres/caller.h"

#include <fmt/format.h>
#include <sys/epoll.h>

#include <algorithm>

#include "broker/base/check.h"
#include "broker/base/log.h"
#include "broker/base/threads.h"
#include "broker/postgres/statements.h"

namespace gearstalk::postgres {
namespace {

constexpr Time kLeastPatience = 500 * kMillisecond;
constexpr Time kLater = kSecond;                 // the operator has to act
constexpr Time kAgain = 20 * kMillisecond;       // after an error that passes
constexpr Time kReconnect = 100 * kMillisecond;  // after a connection that failed
constexpr Time kTurn = 10 * kMillisecond;        // between looks at what is under way
constexpr Time kKeepSecond = 10 * kSecond;       // of two connections that are both idle
constexpr std::int64_t kOldest = 130'000;        // version of the server
constexpr int kEvents = 32;

// The operator has to act: rights, passwords, databases that are missing.
bool IsRefusal(const std::string& state) {
  return state.starts_with("28") || state.starts_with("3D") || state.starts_with("42");
}

constexpr char kTooManyConnections[] = "53300";

// A connection that failed so is not tried again at once.
bool IsForLater(const std::string& state) {
  return IsRefusal(state) || state == kTooManyConnections;
}

constexpr char kSilent[] = "a statement is not answered";

// Of an answer to Statements::WhatHolds.
std::string WhySilent(const Rows& rows) {
  if (rows.Flag(0, 0)) return "a commit waits for a synchronous standby";
  const std::string_view holders = rows.Text(0, 1);
  if (holders.empty()) return kSilent;
  return fmt::format("a statement waits for a lock, which the server's process {} holds", holders);
}

std::string Described(const std::string& host, const Facts& facts) {
  return fmt::format("{} (timeline {})", host, facts.timeline);
}

}  // namespace

Caller::Caller(const PostgresOptions& options, std::vector<Host> hosts, std::function<Time()> boot)
    : options_(options),
      hosts_(std::move(hosts)),
      addresses_(std::make_unique<Addresses>(hosts_)),
      boot_(std::move(boot)),
      patience_(std::max(options.lease / 8, kLeastPatience)),
      channel_(Quoted(ChannelOf(options.schema))),
      epoll_(epoll_create1(EPOLL_CLOEXEC)),
      name_(SessionName(options.schema, 0)) {
  GS_CHECK(epoll_ >= 0);
}

// nullptr: the name of the host is being looked up.
std::unique_ptr<Connection> Caller::Connect(std::size_t host, const std::string& listen, Time now) {
  Host there = hosts_[host];
  if (!addresses_->Fill(host, there, now)) return nullptr;
  return std::make_unique<Connection>(there, name_, listen, epoll_, next_id_++, now);
}

void Caller::Call(LaneOf lane, CallPlan plan, Done done) {
  GS_DCHECK(OnLoop());
  const Time now = boot_();
  Operation operation;
  operation.id = next_id_++;
  operation.plan = std::move(plan);
  operation.done = std::move(done);
  operation.waits_since = now;
  At(lane).operations.push_back(std::move(operation));
  Start(At(lane), now);
}

void Caller::OnNotify() {
  Dispatch();
  Advance(boot_());
}

void Caller::EachConnection(const std::function<void(Connection&)>& visit) {
  for (Lane& lane : lanes_) {
    for (Lane::Try& each : lane.tries) {
      if (each.connection != nullptr) visit(*each.connection);
    }
  }
  if (probe_ != nullptr) visit(*probe_);
  for (const auto& question : questions_) {
    for (const Asked& each : question->asked) {
      if (each.connection != nullptr) visit(*each.connection);
    }
  }
}

void Caller::Dispatch() {
  epoll_event events[kEvents];
  const int count = epoll_wait(epoll_, events, kEvents, 0);
  const Time now = boot_();
  for (int i = 0; i < count; ++i) {
    EachConnection([&, id = events[i].data.u64](Connection& connection) {
      if (connection.id() == id) connection.OnReady(now);
    });
  }
  EachConnection([](Connection& connection) { connection.OnTurn(); });
}

// A connection that is set up over a slow link takes longer in all, but is not silent.
bool Caller::IsLate(const Connection& connection, Time now) const {
  return now >= std::max(connection.heard(), resumed_) + patience_;
}

bool Caller::IsIdle() const {
  const bool waits = std::any_of(lanes_.begin(), lanes_.end(), [](const Lane& lane) {
    return !lane.operations.empty() || lane.IsConnecting();
  });
  return !waits && current_ >= 0 && probe_ == nullptr && questions_.empty();
}

// After a pause of the process, what lies in the sockets is read before anything counts as late.
Time Caller::Tick(Time now) {
  Dispatch();
  if (now > ticked_ + kLeastPatience + kSecond) resumed_ = now;
  ticked_ = now;
  Advance(now);
  return IsIdle() ? now + kSecond : now + kTurn;
}

void Caller::Advance(Time now) {
  if (!settled_ && !fault_.ok()) AnswerAll(fault_);
  Search(now);
  for (Lane& lane : lanes_) {
    AnswerMoved(lane);
    AdvanceLane(lane, now);
  }
  AdvanceQuestions(now);
}

// Tells all who wait that the configuration is wrong.
void Caller::AnswerAll(const Status& fault) {
  for (Lane& lane : lanes_) {
    std::list<Operation> operations = std::exchange(lane.operations, {});
    for (Operation& each : operations) {
      CallAnswer answer;
      answer.result = FailedWith(fault);
      each.done(answer);
    }
  }
}

// Tells those whose statement was for a server that is not in use any more.
void Caller::AnswerMoved(Lane& lane) {
  if (current_ < 0) return;
  std::list<Operation> moved;
  for (auto each = lane.operations.begin(); each != lane.operations.end();) {
    const auto next = std::next(each);
    const std::uint64_t place = each->plan.place;
    if (place != 0 && place != place_) moved.splice(moved.end(), lane.operations, each);
    each = next;
  }
  for (Operation& each : moved) {
    CallAnswer answer;
    answer.moved = true;
    answer.first_sent = each.first_sent;
    each.done(answer);
  }
}

// --- the server

bool Caller::Overdue(Time now) const {
  return std::any_of(lanes_.begin(), lanes_.end(), [&](const Lane& lane) {
    return std::any_of(lane.operations.begin(), lane.operations.end(), [&](const Operation& each) {
      return each.not_before <= now && now >= each.waits_since + std::max(each.plan.hedge, kAgain);
    });
  });
}

// One host after the other, while there is no primary or the one in use is silent.
void Caller::Search(Time now) {
  if (probe_ != nullptr) return OnProbe(now);
  if (now < search_after_ || (current_ >= 0 && (hosts_.size() == 1 || !Overdue(now)))) return;
  if (static_cast<int>(next_host_) == current_) next_host_ = (next_host_ + 1) % hosts_.size();
  probe_ = Connect(next_host_, "", now);
  if (probe_ != nullptr || now < addresses_->waits_since(next_host_) + patience_) return;
  const std::string& why = addresses_->trouble(next_host_);
  if (current_ < 0) {
    trouble_ = hosts_[next_host_].name + ": " + (why.empty() ? "DNS does not answer" : why);
  }
  addresses_->Doubt(next_host_);
  NextHost(now, 0);
}

void Caller::OnProbe(Time now) {
  const Connection::State state = probe_->state();
  if (state == Connection::State::kDown) {
    const Status refusal = NoteDown(*probe_);
    if (refusal_.ok()) refusal_ = refusal;
    return NextHost(now, IsForLater(probe_->trouble_state()) ? kLater : 0);
  }
  if (state == Connection::State::kIdle) {
    const std::string why = WhyNot(probe_->facts(), probe_->host());
    if (why.empty()) return Adopt(std::move(probe_));
    if (current_ < 0) trouble_ = why;
    return NextHost(now, 0);
  }
  if (!IsLate(*probe_, now)) return;
  if (current_ < 0) trouble_ = probe_->host() + ": no answer";
  addresses_->Doubt(next_host_);
  NextHost(now, 0);
}

void Caller::NextHost(Time now, Time pause) {
  probe_.reset();
  next_host_ = (next_host_ + 1) % hosts_.size();
  if (next_host_ == 0) {
    searched_ = true;
    if (current_ < 0 && !settled_ && !refusal_.ok()) fault_ = refusal_;
    refusal_ = {};
  }
  search_after_ = now + std::max(pause, next_host_ == 0 ? kReconnect : 0);
}

// Closes all connections to the server before, and uses this one.
void Caller::Adopt(std::unique_ptr<Connection> connection) {
  for (Lane& lane : lanes_) lane.Close();
  current_ = static_cast<int>(next_host_);
  addresses_->Reached(next_host_, connection->address());
  refusal_ = {};
  facts_ = connection->facts();
  system_ = facts_.system;
  timeline_ = facts_.timeline;
  ++server_;
  ++place_;
  Log(LogLevel::kInfo, "this PostgreSQL server is the primary",
      {{"host", connection->host()}, {"timeline", static_cast<std::uint64_t>(timeline_)}});
  Lane::Try& first = At(LaneOf::kBeats).tries.front();
  first.connection = std::move(connection);
  first.admitted = true;
  first.idle_since = boot_();
}

void Caller::Lose(const std::string& why) {
  trouble_ = why;
  if (current_ < 0) return;
  for (Lane& lane : lanes_) lane.Close();
  next_host_ = (static_cast<std::size_t>(current_) + 1) % hosts_.size();
  current_ = -1;
  ++server_;
  search_after_ = boot_() + kAgain;
}

// Why this server cannot be used; empty: it can.
std::string Caller::WhyNot(const Facts& facts, const std::string& host) {
  if (facts.in_recovery) return host + " is a standby";
  if (system_ != 0 && facts.system != system_) {
    return host + " belongs to another cluster of servers: its system identifier differs";
  }
  if (facts.timeline < timeline_) {
    return fmt::format(
        "{} has the timeline {}, and {} was seen: it was not stopped when another "
        "server was promoted",
        host, facts.timeline, timeline_);
  }
  std::string why = CheckFacts(facts, host);
  if (!why.empty() && refusal_.ok()) refusal_ = {Code::kInvalid, why};
  return why;
}

// What makes a confirmed commit no confirmation.
std::string Caller::CheckFacts(const Facts& facts, const std::string& host) const {
  if (facts.version < kOldest) {
    return fmt::format("{}: PostgreSQL {} is too old: 13 or later is needed", host,
                       facts.server.version);
  }
  if (options_.allow_unsafe) return "";
  if (facts.server.synchronous_commit == "off" || facts.server.synchronous_commit == "local") {
    return fmt::format(
        "{}: synchronous_commit is {}, so that confirmed jobs could be lost: alter role "
        "current_user set synchronous_commit = on",
        host, facts.server.synchronous_commit);
  }
  if (facts.server.fsync == "off") {
    return host +
           ": fsync is off, so that confirmed jobs could be lost: alter system set fsync = on, "
           "then select pg_reload_conf()";
  }
  return "";
}

// An error: the host refuses, and goes on refusing until the operator acts.
Status Caller::NoteDown(const Connection& connection) {
  // While another host is tried besides, the primary's own trouble is what matters.
  if (current_ < 0 || connection.host() == primary()) trouble_ = connection.trouble();
  for (std::size_t i = 0; i < hosts_.size(); ++i) {
    if (hosts_[i].name == connection.host()) addresses_->Doubt(i);
  }
  if (!IsRefusal(connection.trouble_state()) && !connection.no_tls()) return {};
  return {Code::kInvalid, "postgres.conninfo: " + connection.trouble()};
}

void Caller::AskPrimaries(std::function<void(const std::vector<std::string>&)> done) {
  auto question = std::make_unique<Question>();
  question->begun = boot_();
  question->done = std::move(done);
  for (std::size_t i = 0; i < hosts_.size(); ++i) {
    if (static_cast<int>(i) == current_) {
      question->primaries[facts_.process] = Described(hosts_[i].name, facts_);
    } else {
      question->asked.push_back({i, Connect(i, "", question->begun)});
    }
  }
  questions_.push_back(std::move(question));
}

void Caller::AdvanceQuestions(Time now) {
  for (std::size_t i = 0; i < questions_.size();) {
    Question& question = *questions_[i];
    std::erase_if(question.asked, [&](Asked& each) { return Hear(question, each, now); });
    if (!question.asked.empty()) {
      ++i;
      continue;
    }
    const std::unique_ptr<Question> over = std::move(questions_[i]);
    questions_.erase(questions_.begin() + static_cast<std::ptrdiff_t>(i));
    std::vector<std::string> names;
    for (const auto& [process, name] : over->primaries) names.push_back(name);
    over->done(names);
  }
}

// True: a host that was asked has answered, or does not answer.
bool Caller::Hear(Question& question, Asked& asked, Time now) {
  if (asked.connection == nullptr) asked.connection = Connect(asked.host, "", now);
  if (asked.connection == nullptr) return now >= question.begun + patience_;
  const Connection& connection = *asked.connection;
  if (connection.state() == Connection::State::kIdle) {
    const Facts& facts = connection.facts();
    const bool ours = system_ == 0 || facts.system == system_;
    if (!facts.in_recovery && ours)
      question.primaries.try_emplace(facts.process, Described(connection.host(), facts));
    return true;
  }
  const bool down = connection.state() == Connection::State::kDown;
  if (down || IsLate(connection, now)) addresses_->Doubt(asked.host);
  return down || IsLate(connection, now);
}

// --- statements

void Caller::AdvanceLane(Lane& lane, Time now) {
  for (Lane::Try& attempt : lane.tries) {
    if (attempt.connection != nullptr && !AdvanceTry(lane, attempt, now)) attempt.Reset();
  }
  Lane::Try& second = lane.tries[1];
  if (lane.tries[0].connection != nullptr && second.connection != nullptr &&
      second.connection->state() == Connection::State::kIdle && lane.operations.empty() &&
      now >= second.idle_since + kKeepSecond) {
    second.Reset();
  }
  Start(lane, now);
}

// False: the connection is of no more use.
bool Caller::AdvanceTry(Lane& lane, Lane::Try& attempt, Time now) {
  Connection& connection = *attempt.connection;
  if (connection.TakeNotification()) notified_ = true;
  switch (connection.state()) {
    case Connection::State::kConnecting:
      if (!IsLate(connection, now)) return true;
      trouble_ = connection.host() + ": no answer";
      lane.NoteTrouble(trouble_);
      lane.connect_after = now + kReconnect;
      return false;
    case Connection::State::kDown: {
      const Status refusal = NoteDown(connection);
      lane.NoteTrouble(connection.trouble());
      if (!settled_ && !refusal.ok()) fault_ = refusal;
      const bool refused = !attempt.admitted && IsForLater(connection.trouble_state());
      lane.connect_after = now + (refused ? kLater : attempt.admitted ? 0 : kReconnect);
      ++server_;
      if (!attempt.admitted && Pids().empty()) Lose(connection.trouble());
      return false;
    }
    case Connection::State::kIdle:
      return attempt.admitted || Admit(attempt);
    case Connection::State::kBusy:
      return true;
    case Connection::State::kReplied:
      OnReply(lane, attempt, now);
      return true;
  }
  return true;
}

// The server may have become a standby, or have been promoted, since the last connection.
bool Caller::Admit(Lane::Try& attempt) {
  const Facts facts = attempt.connection->facts();
  const std::string why = WhyNot(facts, attempt.connection->host());
  if (!why.empty()) {
    Lose(why);
    return false;
  }
  if (facts.timeline > timeline_) {
    std::unique_ptr<Connection> kept = std::move(attempt.connection);
    for (Lane& each : lanes_) each.Close();
    attempt.connection = std::move(kept);
    timeline_ = facts.timeline;
    ++server_;
    ++place_;
  }
  facts_ = facts;
  attempt.admitted = true;
  attempt.idle_since = boot_();
  return true;
}

// Sends what is due on a free connection, and on a second one what has waited too long.
void Caller::Start(Lane& lane, Time now) {
  if (current_ < 0) return;
  Operation* const due = lane.Due(now);
  const bool wanted = due != nullptr || (warm_appends_ && &lane == &At(LaneOf::kAppends));
  if (!wanted) return;
  const bool runs = due != nullptr && lane.Runs(due->id);
  const bool overdue = due != nullptr && now >= due->waits_since + due->plan.hedge;
  if (runs && !overdue) return;
  if (runs) TellSilence(lane, *due, now);
  if (Lane::Try* idle = lane.Idle(); idle != nullptr) {
    if (due == nullptr) return;
    if (idle->connection->name() != name_) {
      idle->connection->SetName(name_);
      idle->connection->Send({"set application_name = " + Literal(name_), {}, true});
      return;
    }
    if (due->first_sent == 0) due->first_sent = due->waits_since = now;
    if (runs && due->plan.append) ++append_retries_;
    idle->operation = due->id;
    idle->sent = now;
    return idle->connection->Send(due->plan.statement);
  }
  Lane::Try* const free = lane.Free();
  if (free == nullptr || lane.IsConnecting() || now < lane.connect_after) return;
  if (lane.HasAdmitted() && !overdue) return;
  const bool listens = &lane == &At(LaneOf::kReads);
  free->connection = Connect(static_cast<std::size_t>(current_), listens ? channel_ : "", now);
}

void Caller::TellSilence(Lane& lane, Operation& operation, Time now) {
  if (now < operation.silent_told + operation.plan.hedge) return;
  operation.silent_told = now;
  bool silent = false;
  for (const Lane::Try& each : lane.tries) {
    if (each.operation != operation.id) continue;
    silent = silent || now >= each.sent + operation.plan.hedge;
    if (operation.plan.on_silent) operation.plan.on_silent(each.connection->facts().pid);
  }
  if (!silent) return;
  if (operation.trouble.empty()) operation.trouble = primary() + ": " + kSilent;
  AskWhySilent(lane, operation.id);
}

// Asks beside the statement, which goes on meanwhile.
void Caller::AskWhySilent(const Lane& lane, std::uint64_t operation) {
  if (&lane == &At(LaneOf::kReads) || std::exchange(asking_why_, true)) return;
  std::vector<std::int64_t> pids;
  for (const Lane::Try& each : lane.tries) {
    if (each.operation == operation) pids.push_back(each.connection->facts().pid);
  }
  CallPlan plan{.statement = Statements::WhatHolds(pids, Pids()),
                .hedge = SlowHedge(options_.lease),
                .place = place_};
  Call(LaneOf::kReads, std::move(plan), [this, operation](const CallAnswer& answer) {
    asking_why_ = false;
    if (answer.moved || !answer.reply.ok() || answer.reply.rows.empty()) return;
    for (Lane& each : lanes_) {
      if (Operation* const silent = each.Find(operation); silent != nullptr) {
        silent->trouble = primary() + ": " + WhySilent(answer.reply.rows);
      }
    }
  });
}

void Caller::OnReply(Lane& lane, Lane::Try& attempt, Time now) {
  const std::uint64_t id = std::exchange(attempt.operation, 0);
  attempt.idle_since = now;
  Reply reply = attempt.connection->TakeReply();
  Operation* const operation = id == 0 ? nullptr : lane.Find(id);
  if (operation == nullptr) return;  // it has been answered on the other connection
  const Outcome outcome = Judge(*operation, reply);
  if (outcome != Outcome::kAnswered) {
    operation->waits_since = now;
    if (operation->plan.append) ++append_retries_;
    const Time pause = outcome == Outcome::kLater ? kLater : reply.lost ? 0 : kAgain;
    operation->not_before = now + pause;
    return;
  }
  CallAnswer answer;
  answer.sent = attempt.sent;
  answer.first_sent = operation->first_sent;
  answer.server = server_;
  if (!settled_ && IsRefusal(reply.state) &&
      operation->plan.answers.find(reply.state) == std::string::npos) {
    answer.result = FailedWith({Code::kInvalid, "PostgreSQL: " + reply.message});
  }
  answer.reply = std::move(reply);
  trouble_.clear();
  const Done done = std::move(operation->done);
  lane.operations.remove_if([id](const Operation& each) { return each.id == id; });
  done(answer);
}

Caller::Outcome Caller::Judge(Operation& operation, const Reply& reply) {
  operation.trouble.clear();
  if (reply.ok()) return Outcome::kAnswered;
  const std::string& state = reply.state;
  if (!state.empty() && operation.plan.answers.find(state) != std::string::npos) {
    return Outcome::kAnswered;
  }
  if (state == "55P03") return Outcome::kLater;  // somebody holds a lock: no trouble
  operation.trouble = reply.message;
  if (reply.lost || reply.warned) return Outcome::kAgain;
  if (state == "25006") {
    Lose(reply.message);
    return Outcome::kAgain;
  }
  if (state.starts_with("40") || state.starts_with("57") || state.starts_with("08")) {
    return Outcome::kAgain;
  }
  return !settled_ && IsRefusal(state) ? Outcome::kAnswered : Outcome::kLater;
}

void Caller::Reconnect(std::vector<Host> hosts) {
  hosts_ = std::move(hosts);
  addresses_ = std::make_unique<Addresses>(hosts_);
  next_host_ = 0;
  for (Lane& lane : lanes_) lane.Close();
  probe_.reset();
  for (const auto& question : questions_) question->asked.clear();
  current_ = -1;
  ++server_;
}

std::string Caller::primary() const {
  return current_ < 0 ? "" : hosts_[static_cast<std::size_t>(current_)].name;
}

std::string Caller::trouble() const {
  if (!trouble_.empty()) return trouble_;
  for (const Lane& lane : lanes_) {
    if (const std::string_view trouble = lane.trouble(); !trouble.empty()) {
      return std::string(trouble);
    }
  }
  return "";
}

std::vector<EndpointStats> Caller::Endpoints() const {
  std::vector<EndpointStats> endpoints;
  for (std::size_t i = 0; i < hosts_.size(); ++i) {
    endpoints.push_back({hosts_[i].name, static_cast<int>(i) == current_, 0});
  }
  return endpoints;
}

std::vector<std::int64_t> Caller::Pids() const {
  std::vector<std::int64_t> pids;
  for (const Lane& lane : lanes_) {
    for (const Lane::Try& each : lane.tries) {
      if (each.admitted) pids.push_back(each.connection->facts().pid);
    }
  }
  return pids;
}

}  // namespace gearstalk::postgres
