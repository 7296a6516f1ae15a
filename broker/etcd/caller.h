#pragma once

#include <grpcpp/client_context.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/support/byte_buffer.h>

#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "broker/base/clock.h"
#include "broker/etcd/completions.h"
#include "broker/etcd/endpoints.h"
#include "broker/replica/log_store.h"

namespace gearstalk::etcd {

// How a call is made.
struct CallPlan {
  const char* method;
  Lane lane = Lane::kData;
  Time hedge = 0;  // after so long without an answer, the next endpoint gets the same bytes, too
  Time limit = 0;  // of one try
  // The answer is: each further try waits twice as long, or a slow link would carry it many times.
  bool is_large = false;
  bool append = false;     // for the statistics
  bool anonymous = false;  // carries no token
  // One try, at this endpoint, whose failure is the answer.
  std::optional<std::size_t> only = {};
};

// The final answer of an endpoint.
struct CallAnswer {
  StoreResult result;
  std::string bytes;         // of the response, if done
  std::size_t endpoint = 0;  // that answered
  Time sent = 0;             // when that try left
  Time first_sent = 0;
};

// Repeats calls to a cluster until they are answered. After `hedge` without an answer, the same
// bytes go to the next endpoint as well, in turn, and the first answer counts. Tries whose
// outcome is not known (timeouts, lost connections, a change of etcd's leader) are repeated for
// ever, with the same bytes. Logs in when there is a user.
//
// Used on the loop's thread; nothing is answered from within Call.
class Caller {
 public:
  using Done = std::function<void(const CallAnswer&)>;

  Caller(const EtcdOptions& options, const EtcdSecrets& secrets, std::function<Time()> boot);
  ~Caller();

  void Call(const CallPlan& plan, const std::string& request, Done done);
  // Starts the tries that are due; returns when the next one is.
  Time Tick(Time now);

  // Why the newest try failed, of an append or of other calls that any endpoint may answer; empty:
  // it did not fail.
  const std::string& trouble() const {
    return append_trouble_.empty() ? trouble_ : append_trouble_;
  }
  std::uint64_t append_retries() const { return append_retries_; }
  // Which endpoints belong to two clusters; empty: none do.
  const std::string& foreign() const { return foreign_; }
  // From now on an endpoint of another cluster is left out, and what was refused is asked for
  // again: before, both are answers.
  void Settle() { settled_ = true; }
  void Reconnect(const EtcdSecrets& secrets);
  // Whether an answer with this id comes from the cluster in use; 0: not known.
  bool OfThisCluster(std::size_t endpoint, std::uint64_t cluster_id);

  Endpoints& endpoints() { return endpoints_; }
  const Endpoints& endpoints() const { return endpoints_; }
  Completions& completions() { return completions_; }
  int notify_fd() const { return completions_.notify_fd(); }
  // What every call carries: deadline, token.
  void Prepare(grpc::ClientContext& context, Time limit) const;

 private:
  struct Operation;
  struct Try;

  enum class Outcome : std::uint8_t {
    kAnswered,
    kAgain,  // not known, or not done
    kLater,  // the operator has to act: again in a second
    kLogIn,  // the token is not good any more
  };

  void Start(Operation& operation, Time now);
  std::optional<std::size_t> FreeEndpoint(const Operation& operation, Time now) const;
  void StartTry(Operation& operation, std::size_t endpoint);
  void OnTry(Try& finished);
  Outcome Judge(const Try& finished, CallAnswer& answer);
  Outcome JudgeError(const Try& finished, StoreResult& result);
  void NoteTrouble(const Try& finished, std::string trouble);
  void Answer(Operation& operation, const Try& winner, const CallAnswer& answer);
  void LogIn();
  std::string LoginRequest() const;
  void OnLogIn(const CallAnswer& answer);
  bool MustLogIn() const { return !options_.user.empty() && token_.empty() && !no_login_; }

  const EtcdOptions options_;
  EtcdSecrets secrets_;
  const std::function<Time()> boot_;
  Endpoints endpoints_;
  std::list<std::unique_ptr<Operation>> operations_;
  std::map<Try*, std::unique_ptr<Try>> tries_;
  std::string token_;
  Operation* login_ = nullptr;  // under way
  bool no_login_ = false;       // etcd does not ask for it
  bool settled_ = false;
  std::uint64_t cluster_id_ = 0;
  std::size_t cluster_of_ = 0;  // endpoint that it is known from
  std::string trouble_, append_trouble_;
  std::string foreign_;
  std::uint64_t append_retries_ = 0;
  Completions completions_;  // the last: it ends first
};

}  // namespace gearstalk::etcd
