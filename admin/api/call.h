#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "admin/api/broker_control.h"
#include "admin/api/fields.h"
#include "admin/api/json.h"
#include "admin/api/problem.h"
#include "admin/api/users.h"
#include "admin/http/answer.h"
#include "admin/http/request.h"
#include "admin/http/slices.h"
#include "admin/metrics/server_facts.h"
#include "broker/engine/engine.h"
#include "broker/server/protocol.h"

namespace gearstalk {
class Attention;
}

namespace gearstalk::api {

class Audit;
class Events;
class Guard;
class History;
class Operations;
class SideThread;

// What the API needs of the server around the engine.
class Host {
 public:
  // The time of this round; of the slice that runs.
  virtual Time Now() const = 0;
  virtual ServerFacts Facts() const = 0;
  // Reserves a transfer until GiveTransfer. False: it is in use.
  virtual bool TakeTransfer(const std::string& name) = 0;
  // `changed`: the last change that was made to it.
  virtual void GiveTransfer(const std::string& name, Lsn changed) = 0;
  virtual std::string_view LogLevelName() const = 0;
  // Holds until the configuration is read again.
  virtual void SetLogLevel(std::string_view level) = 0;
  // Closes a client's connection at the end of the round, if it is this one.
  virtual void CloseConnection(int fd, std::uint64_t id) = 0;

 protected:
  ~Host() = default;
};

// A reply that takes several slices to make. It outlives the call that began it. An act on several
// jobs reports with `co_yield COUNT` how many it has changed; that ends no slice. The audit records
// the last count.
struct MadeReply;
using Task = SlicesOf<MadeReply>;

struct Reply : HttpAnswer {
  explicit Reply(int code = 200, std::string json = {})
      : HttpAnswer{{.status = code, .type = "application/json", .body = std::move(json)}} {}
  Reply(Problem why) : Reply(StatusOf(why.code)) { problem = std::move(why); }
  Reply(Task slices) : Reply() { work = std::move(slices); }
  static Reply Of(const Json& json, int status = 200) { return Reply(status, Dump(json)); }
  static Reply Empty() { return Reply(204); }
  Reply Durable(Lsn at) && {
    lsn = at;
    return std::move(*this);
  }
  Reply With(std::string name, std::string value) && {
    headers.emplace_back(std::move(name), std::move(value));
    return std::move(*this);
  }

  JobId made = 0;  // the job that the act has made, for the audit
  std::optional<Problem> problem;
  Task work;  // makes the reply; all other members are ignored
};

struct MadeReply : MadeResult<Reply> {
  std::optional<std::uint64_t> count;
  std::suspend_never yield_value(std::uint64_t changed) {
    count = changed;
    return {};
  }
};

// What the audit records of an act.
struct Act {
  std::string_view action;  // empty: no act
  std::string tube;
  JobId job = 0;
  std::string filter;
  std::optional<std::uint64_t> count;
};

// The objects that handlers use; they outlive the handlers.
struct Services {
  Engine& engine;
  const ConnectionList& connections;
  Host& host;
  BrokerControl& broker;
  SliceQueue& slices;
  Guard& guard;
  Audit& audit;
  Operations& operations;
  History& history;
  const Attention& attention;
  Events& events;
  SideThread& side;
  std::string_view run;  // differs after each start: ids of tubes do not outlive it

  Time Now() const { return host.Now(); }
};

// One request, parsed and permitted.
struct Call {
  const Services& services;
  const HttpRequest& request;
  Caller& caller;  // OpenSession makes it the user who logs in
  Time now;
  std::string request_id;
  std::vector<std::string> arguments{};  // the values of {...} in the path, as sent
  Fields fields{};                       // of the body; of the query where there is none
  Act act{};

  Engine& engine() const { return services.engine; }
};

}  // namespace gearstalk::api
