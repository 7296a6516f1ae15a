#pragma once

#include <libpq-fe.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "broker/base/clock.h"
#include "broker/postgres/conninfo.h"
#include "broker/replica/log_store.h"

namespace gearstalk::postgres {

// A parameter of a statement: text, or bytes as they are.
struct Parameter {
  Parameter(std::string_view text) : value(text) {}
  Parameter(const std::string& text) : value(text) {}
  Parameter(const char* text) : value(text) {}
  Parameter(std::int64_t number) : value(std::to_string(number)) {}
  Parameter(std::uint64_t number) : value(std::to_string(number)) {}
  static Parameter Bytes(std::string_view bytes) {
    Parameter parameter(bytes);
    parameter.binary = true;
    return parameter;
  }

  std::string value;
  bool binary = false;
};

// One command, or a script: several without parameters and rows, which are one transaction.
struct Statement {
  std::string sql;
  std::vector<Parameter> parameters = {};
  bool script = false;
};

struct ClearResult {
  void operator()(PGresult* result) const { PQclear(result); }
};
using PgResult = std::unique_ptr<PGresult, ClearResult>;

// The rows of an answer, whose columns are bigint, boolean, text or bytea.
class Rows {
 public:
  Rows() = default;
  explicit Rows(PgResult result) : result_(std::move(result)) {}

  int size() const { return result_ == nullptr ? 0 : PQntuples(result_.get()); }
  bool empty() const { return size() == 0; }
  bool IsNull(int row, int column) const { return PQgetisnull(result_.get(), row, column) != 0; }
  std::string_view Text(int row, int column) const {
    return {PQgetvalue(result_.get(), row, column),
            static_cast<std::size_t>(PQgetlength(result_.get(), row, column))};
  }
  // 0 for null.
  std::int64_t Number(int row, int column) const;
  std::uint64_t Unsigned(int row, int column) const {
    return static_cast<std::uint64_t>(Number(row, column));
  }
  // False for null.
  bool Flag(int row, int column) const { return Text(row, column) == std::string_view("\1", 1); }

 private:
  PgResult result_;
};

// What came of a statement.
struct Reply {
  bool lost = false;    // the connection ended first
  bool warned = false;  // with a warning: the commit may have given up waiting for a standby
  std::string state;    // SQLSTATE of the error; empty: none, or none that is known
  std::string message;  // of the error
  Rows rows;

  bool ok() const { return !lost && !warned && state.empty(); }
};

// What a session says of its server.
struct Facts {
  std::int64_t version = 0;  // 150004 is 15.4
  StoreServer server;        // without what other servers say
  bool in_recovery = false;
  std::int64_t system = 0;    // identifier of the cluster of files
  std::string process;        // tells this server from all others, whatever its address
  std::int64_t timeline = 0;  // raised by each promotion; 0 in recovery
  std::int64_t pid = 0;       // of the backend
};

// Asks for the facts, and reads them.
Statement AskFacts();
Facts ReadFacts(const Rows& rows);

// One session. It sets itself up, says what server it is on, and then runs one statement at a
// time. Never waits: OnReady is to be called when the descriptor is ready, and OnTurn now and then,
// because TLS may hold bytes of an answer back of which the descriptor says nothing.
class Connection {
 public:
  enum class State : std::uint8_t { kConnecting, kIdle, kBusy, kReplied, kDown };

  // `epoll`: where the descriptor is registered, with `id`. `listen`: a channel, or nothing.
  Connection(const Host& host, const std::string& name, std::string listen, int epoll,
             std::uint64_t id, Time now);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  void OnReady(Time now);
  void OnTurn();
  // In kIdle.
  void Send(const Statement& statement);
  // In kReplied. Then it is idle or down.
  Reply TakeReply();
  // Whether a notification has come since the last call.
  bool TakeNotification() { return std::exchange(notified_, false); }

  State state() const { return state_; }
  std::uint64_t id() const { return id_; }
  Time heard() const { return heard_; }          // when the server did something last
  const Facts& facts() const { return facts_; }  // once it is idle
  const std::string& host() const { return host_; }
  const std::string& name() const { return name_; }  // application_name
  void SetName(std::string name) { name_ = std::move(name); }
  const std::string& address() const { return address_; }  // of the host, once connected
  // Of kDown.
  const std::string& trouble() const { return trouble_; }
  const std::string& trouble_state() const { return trouble_state_; }  // SQLSTATE, if there is one
  bool no_tls() const { return no_tls_; }  // the server does not offer what is wanted

 private:
  enum class Step : std::uint8_t { kConnect, kSettings, kFacts, kListen, kRun };

  static void OnNotice(void* self, const PGresult* notice);
  void Poll();
  void Receive();
  void Register(std::uint32_t events);
  void NextStep();
  void SendText(const std::string& sql);
  void AfterSend(bool sent);
  void Flush();
  void Gather();
  void OnStepDone();
  void Down(std::string why);

  const std::string host_;
  std::string name_;
  const std::string listen_;
  const int epoll_;
  const std::uint64_t id_;
  Time heard_;
  std::uint32_t events_ = 0;  // that are registered
  State state_ = State::kConnecting;
  Step step_ = Step::kConnect;
  PGconn* connection_ = nullptr;
  Facts facts_;
  Reply reply_;  // as far as it has come
  bool runs_script_ = false;
  bool notified_ = false;
  std::string address_;
  std::string trouble_, trouble_state_;
  bool no_tls_ = false;
};

}  // namespace gearstalk::postgres
