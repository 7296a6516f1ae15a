#include "broker/postgres/connection.h"

#include <sys/epoll.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <iterator>

#include "broker/base/split.h"

namespace gearstalk::postgres {
namespace {

constexpr int kSettingsOf14 = 140'000;
constexpr char kBadPassword[] = "28P01";

// What an administrator may have set for the role must not change what statements mean. The path
// comes first: no function is called before. Parts are found by their key, also in a new partition
// of which the server has no statistics.
constexpr char kSettings[] =
    "set search_path = pg_catalog; set statement_timeout = 0; set lock_timeout = 0; "
    "set idle_in_transaction_session_timeout = 0; "
    "set standard_conforming_strings = on; set default_transaction_isolation = 'read committed'; "
    "set default_transaction_read_only = off; set client_min_messages = warning; "
    "set enable_seqscan = off";

// The setting that was checked is the session's own from then on, whatever a reload says.
constexpr char kFacts[] =
    "select current_setting('server_version_num')::bigint, current_setting('server_version'), "
    "pg_is_in_recovery(), (select system_identifier from pg_control_system())::bigint, "
    "case when pg_is_in_recovery() then 0 else ('x' || substr(pg_walfile_name("
    "pg_current_wal_insert_lsn()), 1, 8))::bit(32)::bigint end, "
    "set_config('synchronous_commit', current_setting('synchronous_commit'), false), "
    "current_setting('fsync'), "
    "current_setting('full_page_writes'), current_setting('synchronous_standby_names'), "
    "(select string_agg(application_name, E'\\n' order by application_name) from "
    "pg_stat_replication "
    "where sync_state in ('sync', 'quorum')), "
    "exists (select from pg_stat_replication where sync_state is null), pg_backend_pid()::bigint, "
    "(select system_identifier from pg_control_system()) || ' ' || "
    "(extract(epoch from pg_postmaster_start_time()) * 1000000)::bigint || ' ' || "
    "current_setting('port')";

// Functions of the server whose warnings say nothing of a commit: ids of transactions, or the queue
// of notifications, are used up soon. These warnings have no SQLSTATE of their own.
constexpr std::string_view kNotOfCommits[] = {"GetNewTransactionId", "SetTransactionIdLimit",
                                              "GetNewMultiXactId", "SetMultiXactIdLimit",
                                              "asyncQueueFillWarning"};

// libpq keeps no SQLSTATE of a connection that failed, but writes it into its verbose message:
// "SEVERITY:  28P01: text".
std::string StateIn(const std::string& message) {
  for (std::size_t at = message.find(":  "); at != std::string::npos;
       at = message.find(":  ", at + 1)) {
    std::string state = message.substr(at + 3, 5);
    const bool good = state.size() == 5 && message.compare(at + 8, 2, ": ") == 0 &&
                      std::all_of(state.begin(), state.end(), [](unsigned char c) {
                        return std::isdigit(c) != 0 || std::isupper(c) != 0;
                      });
    if (good) return state;
  }
  return "";
}

}  // namespace

std::int64_t Rows::Number(int row, int column) const {
  std::uint64_t number = 0;
  for (const char c : Text(row, column)) number = number << 8 | static_cast<unsigned char>(c);
  return static_cast<std::int64_t>(number);
}

Statement AskFacts() { return {kFacts}; }

Facts ReadFacts(const Rows& rows) {
  Facts facts;
  if (rows.size() != 1) return facts;
  facts.version = rows.Number(0, 0);
  StoreServer& server = facts.server;
  server.kind = "postgresql";
  server.version = rows.Text(0, 1);
  facts.in_recovery = rows.Flag(0, 2);
  facts.system = rows.Number(0, 3);
  facts.timeline = rows.Number(0, 4);
  server.synchronous_commit = rows.Text(0, 5);
  server.fsync = rows.Text(0, 6);
  server.full_page_writes = rows.Text(0, 7);
  server.synchronous_standby_names = rows.Text(0, 8);
  const std::string_view names = rows.Text(0, 9);
  if (!names.empty()) {
    for (const std::string_view name : Split(names, '\n')) server.standbys.emplace_back(name);
  }
  server.standbys_known = !rows.Flag(0, 10);
  facts.pid = rows.Number(0, 11);
  facts.process = rows.Text(0, 12);
  return facts;
}

Connection::Connection(const Host& host, const std::string& name, std::string listen, int epoll,
                       std::uint64_t id, Time now)
    : host_(host.name),
      name_(name),
      listen_(std::move(listen)),
      epoll_(epoll),
      id_(id),
      heard_(now) {
  std::vector<const char*> words, values;
  for (const auto& [word, value] : host.words) {
    words.push_back(word.c_str());
    values.push_back(value.c_str());
  }
  words.insert(words.end(), {"application_name", "client_encoding", nullptr});
  values.insert(values.end(), {name_.c_str(), "UTF8", nullptr});
  connection_ = PQconnectStartParams(words.data(), values.data(), 0);
  if (connection_ == nullptr) {
    Down("out of memory");
    return;
  }
  PQsetErrorVerbosity(connection_, PQERRORS_VERBOSE);
  PQsetNoticeReceiver(connection_, OnNotice, this);
  PQstatus(connection_) == CONNECTION_BAD ? Down("") : Register(EPOLLOUT);
}

Connection::~Connection() {
  if (connection_ != nullptr) PQfinish(connection_);
}

// libpq opens another socket for each address that it tries.
void Connection::Register(std::uint32_t events) {
  if (step_ != Step::kConnect && std::exchange(events_, events) == events) return;
  epoll_event event{};
  event.events = events;
  event.data.u64 = id_;
  const int fd = PQsocket(connection_);
  if (epoll_ctl(epoll_, EPOLL_CTL_MOD, fd, &event) != 0 && errno == ENOENT) {
    epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event);
  }
}

// What a script does counts when a later commit does.
void Connection::OnNotice(void* self, const PGresult* notice) {
  const auto field = [notice](int code) {
    const char* text = PQresultErrorField(notice, code);
    return std::string_view(text == nullptr ? "" : text);
  };
  Connection& connection = *static_cast<Connection*>(self);
  if (connection.runs_script_ || field(PG_DIAG_SEVERITY_NONLOCALIZED) != "WARNING") return;
  const std::string_view source = field(PG_DIAG_SOURCE_FUNCTION);
  if (std::ranges::find(kNotOfCommits, source) != std::end(kNotOfCommits)) return;
  connection.reply_.warned = true;
  connection.reply_.message = field(PG_DIAG_MESSAGE_PRIMARY);
}

void Connection::Down(std::string why) {
  if (state_ == State::kDown) return;
  if (why.empty() && connection_ != nullptr) {
    why = PQerrorMessage(connection_);
    // Without a password libpq ends the connection itself, and there is no SQLSTATE.
    trouble_state_ = PQconnectionNeedsPassword(connection_) != 0 ? kBadPassword : StateIn(why);
    no_tls_ = why.find("does not support SSL") != std::string::npos;
  }
  trouble_ = why.substr(0, why.find_last_not_of(" \r\n\t") + 1);
  trouble_ = trouble_.substr(0, trouble_.find("\nLOCATION:"));
  std::erase(trouble_, '\t');
  std::replace(trouble_.begin(), trouble_.end(), '\n', ' ');
  if (connection_ != nullptr) PQfinish(std::exchange(connection_, nullptr));
  // A statement that was sent has an answer, which says that its outcome is not known.
  if (state_ == State::kBusy) {
    reply_.lost = true;
    state_ = State::kReplied;
    return;
  }
  state_ = State::kDown;
}

void Connection::OnReady(Time now) {
  if (connection_ == nullptr) return;
  heard_ = now;
  step_ == Step::kConnect ? Poll() : Receive();
}

void Connection::OnTurn() {
  const bool waits = state_ == State::kBusy || state_ == State::kConnecting;
  if (waits && step_ != Step::kConnect && PQsslInUse(connection_) != 0) Receive();
}

void Connection::Receive() {
  // With TLS, what was received may not be all that was decrypted.
  for (int left = PQsslInUse(connection_) != 0 ? 3 : 1; left > 0; --left) {
    if (PQconsumeInput(connection_) == 0) return Down("");
  }
  Flush();
  if (connection_ == nullptr) return;
  if (state_ == State::kBusy || step_ != Step::kRun) Gather();
  while (connection_ != nullptr) {
    PGnotify* notification = PQnotifies(connection_);
    if (notification == nullptr) break;
    notified_ = true;
    PQfreemem(notification);
  }
}

void Connection::Poll() {
  switch (PQconnectPoll(connection_)) {
    case PGRES_POLLING_READING:
      return Register(EPOLLIN);
    case PGRES_POLLING_WRITING:
      return Register(EPOLLOUT);
    case PGRES_POLLING_OK:
      break;
    default:
      return Down("");
  }
  PQsetnonblocking(connection_, 1);
  const char* address = PQhostaddr(connection_);
  address_ = address == nullptr ? "" : address;
  step_ = Step::kSettings;
  NextStep();
}

void Connection::NextStep() {
  switch (step_) {
    case Step::kConnect:
      return;
    case Step::kSettings: {
      const bool has_it = PQserverVersion(connection_) >= kSettingsOf14;
      return SendText(std::string(kSettings) + (has_it ? "; set idle_session_timeout = 0" : ""));
    }
    case Step::kFacts:
      return AfterSend(
          PQsendQueryParams(connection_, kFacts, 0, nullptr, nullptr, nullptr, nullptr, 1) != 0);
    case Step::kListen:
      return SendText("listen " + listen_);
    case Step::kRun:
      state_ = State::kIdle;
  }
}

void Connection::SendText(const std::string& sql) {
  AfterSend(PQsendQuery(connection_, sql.c_str()) != 0);
}

void Connection::Send(const Statement& statement) {
  state_ = State::kBusy;
  reply_ = {};
  runs_script_ = statement.script;
  if (statement.script) return SendText(statement.sql);
  std::vector<const char*> values;
  std::vector<int> lengths, formats;
  for (const Parameter& parameter : statement.parameters) {
    values.push_back(parameter.value.c_str());
    lengths.push_back(static_cast<int>(parameter.value.size()));
    formats.push_back(parameter.binary ? 1 : 0);
  }
  const int count = static_cast<int>(values.size());
  AfterSend(PQsendQueryParams(connection_, statement.sql.c_str(), count, nullptr, values.data(),
                              lengths.data(), formats.data(), 1) != 0);
}

void Connection::AfterSend(bool sent) { sent ? Flush() : Down(""); }

void Connection::Flush() {
  const int left = PQflush(connection_);
  if (left < 0) return Down("");
  Register(left > 0 ? EPOLLIN | EPOLLOUT : EPOLLIN);
}

// The answer is whole when the server is ready for the next statement: the commit is behind what
// it says of the statement.
void Connection::Gather() {
  while (PQisBusy(connection_) == 0) {
    PgResult result(PQgetResult(connection_));
    if (result == nullptr) return OnStepDone();
    const ExecStatusType status = PQresultStatus(result.get());
    if (status == PGRES_TUPLES_OK) {
      reply_.rows = Rows(std::move(result));
    } else if (status != PGRES_COMMAND_OK) {
      const char* state = PQresultErrorField(result.get(), PG_DIAG_SQLSTATE);
      const char* text = PQresultErrorField(result.get(), PG_DIAG_MESSAGE_PRIMARY);
      // Without a state it is libpq's own: the connection is lost.
      if (state == nullptr) return Down("");
      reply_.state = state;
      reply_.message = text == nullptr ? state : text;
    }
  }
}

void Connection::OnStepDone() {
  if (step_ == Step::kRun) {
    state_ = State::kReplied;
    return;
  }
  if (!reply_.state.empty()) {
    trouble_state_ = reply_.state;
    return Down(reply_.message);
  }
  if (step_ == Step::kFacts) facts_ = ReadFacts(reply_.rows);
  const bool listens = !listen_.empty() && !facts_.in_recovery;
  step_ = step_ == Step::kSettings           ? Step::kFacts
          : step_ == Step::kFacts && listens ? Step::kListen
                                             : Step::kRun;
  reply_ = {};
  NextStep();
}

Reply Connection::TakeReply() {
  state_ = connection_ == nullptr ? State::kDown : State::kIdle;
  if (reply_.lost) reply_.message = trouble_;
  return std::exchange(reply_, {});
}

}  // namespace gearstalk::postgres
