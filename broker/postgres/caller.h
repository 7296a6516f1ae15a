#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "broker/base/clock.h"
#include "broker/base/descriptor.h"
#include "broker/base/status.h"
#include "broker/postgres/addresses.h"
#include "broker/postgres/conninfo.h"
#include "broker/postgres/lane.h"

namespace gearstalk::postgres {

// Finds the primary among the hosts, and repeats statements there until they are answered. The
// outcome of a statement whose connection was lost, or that was answered with a warning, is not
// known: it goes out again, as it was.
//
// All connections are to one server, which is known by the identifier of its files and its
// timeline. Hosts are tried one after the other while there is none, and while an answer is
// overdue. A server in recovery, of other files, or of a lower timeline than one that was seen is
// not used; when a higher one is seen, all connections to the one before are closed first.
//
// Used on the loop's thread; nothing is answered from within Call.
class Caller {
 public:
  using Done = std::function<void(const CallAnswer&)>;

  Caller(const PostgresOptions& options, std::vector<Host> hosts, std::function<Time()> boot);
  Caller(const Caller&) = delete;
  Caller& operator=(const Caller&) = delete;

  void Call(LaneOf lane, CallPlan plan, Done done);
  // Readable when OnNotify has something to do.
  int notify_fd() const { return epoll_; }
  void OnNotify();
  // Does what is due; returns when to call again.
  Time Tick(Time now);

  // Asks all hosts, and answers with those that are a primary, each server once: its name and
  // timeline.
  void AskPrimaries(std::function<void(const std::vector<std::string>&)> done);
  // The connections for appends are needed soon.
  void WarmAppends() { warm_appends_ = true; }
  // application_name, from the next statement on.
  void SetName(const std::string& name) { name_ = name; }
  // Whether something was notified since the last call.
  bool TakeNotification() { return std::exchange(notified_, false); }

  // A primary is in use, or every host has been tried, or the configuration is wrong.
  bool opened() const { return current_ >= 0 || searched_ || !fault_.ok(); }
  const Status& fault() const { return fault_; }
  // From now on what was refused is tried again each second: before, a refusal is the answer.
  void Settle() { settled_ = true; }
  void Reconnect(std::vector<Host> hosts);

  std::uint64_t server() const { return server_; }
  // Number of the times that a server was taken into use.
  std::uint64_t place() const { return place_; }
  // Of the server in use, as they were when they were last asked for.
  const Facts& facts() const { return facts_; }
  void SetFacts(const Facts& facts) { facts_ = facts; }
  // What makes its confirmed commits no confirmation, and what mends that; empty: nothing.
  std::string Unsafe() const { return current_ < 0 ? "" : CheckFacts(facts_, primary()); }
  std::string primary() const;  // its name; empty: there is none
  std::size_t hosts() const { return hosts_.size(); }
  std::vector<EndpointStats> Endpoints() const;
  // Why there is no server to use, or why a statement that waits has no answer; empty: neither.
  std::string trouble() const;
  std::uint64_t append_retries() const { return append_retries_; }
  std::vector<std::int64_t> Pids() const;  // of all backends of this broker

 private:
  enum class Outcome : std::uint8_t { kAnswered, kAgain, kLater };
  // A host that is asked whether it is a primary.
  struct Asked {
    std::size_t host = 0;
    std::unique_ptr<Connection> connection;  // nullptr: its name is being looked up
  };
  // Which hosts are a primary.
  struct Question {
    Time begun = 0;
    std::vector<Asked> asked;
    std::map<std::string, std::string> primaries;  // as it is told, by Facts::process
    std::function<void(const std::vector<std::string>&)> done;
  };

  Lane& At(LaneOf lane) { return lanes_[static_cast<std::size_t>(lane)]; }
  std::unique_ptr<Connection> Connect(std::size_t host, const std::string& listen, Time now);
  void EachConnection(const std::function<void(Connection&)>& visit);
  bool IsLate(const Connection& connection, Time now) const;
  void Dispatch();
  void Advance(Time now);
  // --- the server
  void Search(Time now);
  void OnProbe(Time now);
  void NextHost(Time now, Time pause);
  void Adopt(std::unique_ptr<Connection> connection);
  void Lose(const std::string& why);
  std::string WhyNot(const Facts& facts, const std::string& host);
  std::string CheckFacts(const Facts& facts, const std::string& host) const;
  Status NoteDown(const Connection& connection);
  bool Overdue(Time now) const;
  void AdvanceQuestions(Time now);
  bool Hear(Question& question, Asked& asked, Time now);
  // --- statements
  void AdvanceLane(Lane& lane, Time now);
  bool AdvanceTry(Lane& lane, Lane::Try& attempt, Time now);
  bool Admit(Lane::Try& attempt);
  void Start(Lane& lane, Time now);
  void TellSilence(Lane& lane, Operation& operation, Time now);
  void AskWhySilent(const Lane& lane, std::uint64_t operation);
  void OnReply(Lane& lane, Lane::Try& attempt, Time now);
  Outcome Judge(Operation& operation, const Reply& reply);
  void AnswerAll(const Status& fault);
  void AnswerMoved(Lane& lane);
  bool IsIdle() const;

  const PostgresOptions options_;
  std::vector<Host> hosts_;
  std::unique_ptr<Addresses> addresses_;
  const std::function<Time()> boot_;
  const Time patience_;  // with a connection that is being set up, and silent
  const std::string channel_;
  const Descriptor epoll_;  // outlives all connections
  std::string name_;
  std::array<Lane, 3> lanes_;
  std::unique_ptr<Connection> probe_;
  std::size_t next_host_ = 0;
  Time search_after_ = 0;
  bool searched_ = false;
  std::vector<std::unique_ptr<Question>> questions_;
  int current_ = -1;                        // host that is the primary in use
  Facts facts_;                             // of that
  std::int64_t system_ = 0, timeline_ = 0;  // the highest that was seen
  std::uint64_t server_ = 0, place_ = 0;
  std::uint64_t next_id_ = 1;
  bool settled_ = false;
  bool notified_ = false;
  bool warm_appends_ = false;
  Status refusal_;  // the first of this search, by a host: a fault when no other one can be used
  Status fault_;
  std::string trouble_;      // with the server itself, since the last answer
  bool asking_why_ = false;  // a statement has no answer
  std::uint64_t append_retries_ = 0;
  Time ticked_ = 0, resumed_ = 0;  // the last Tick; the end of the last pause of the process
};

}  // namespace gearstalk::postgres
