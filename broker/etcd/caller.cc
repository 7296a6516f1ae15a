#include "broker/etcd/caller.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "broker/base/check.h"
#include "broker/base/log.h"
#include "broker/base/threads.h"
#include "broker/etcd/etcd.pb.h"

namespace gearstalk::etcd {
namespace {

// How long an endpoint that failed gets no further try.
constexpr Time kFailedPause = 100 * kMillisecond;
constexpr Time kRefusedPause = kSecond;

std::string Bytes(const grpc::ByteBuffer& buffer) {
  grpc::Slice slice;
  if (!buffer.DumpToSingleSlice(&slice).ok()) return {};
  return {reinterpret_cast<const char*>(slice.begin()), slice.size()};
}

grpc::ByteBuffer Buffer(const std::string& bytes) {
  const grpc::Slice slice(bytes);
  return {&slice, 1};
}

// The cluster in the header that every response begins with; 0: there is none.
std::uint64_t ClusterOf(const std::string& response) {
  if (response.size() < 2 || response[0] != 0x0A) return 0;
  const auto size = static_cast<std::uint8_t>(response[1]);
  ResponseHeader header;
  if (size >= 0x80 || response.size() < 2U + size) return 0;
  return header.ParseFromArray(response.data() + 2, size) ? header.cluster_id() : 0;
}

bool Says(const std::string& message, std::string_view words) {
  return message.find(words) != std::string::npos;
}

// A node that does not speak TLS closes the connection when it is greeted.
std::string_view AdviceOn(const EndpointName& endpoint, const std::string& message) {
  const bool closed = Says(message, "failed to connect") && Says(message, "Socket closed");
  if (!endpoint.tls || !closed) return "";
  return " (if it does not speak TLS: write etcd.endpoints without https://)";
}

}  // namespace

// A call that is not answered yet.
struct Caller::Operation {
  CallPlan plan;
  grpc::ByteBuffer request;
  Done done;
  Time hedge = 0;  // the plan's, and what it has grown to
  Time next_try = 0;
  Time first_sent = 0;
  std::vector<Try*> tries;   // under way, by time
  std::vector<Time> failed;  // by endpoint: when a try failed there; 0: never
};

struct Caller::Try final : Completion {
  explicit Try(Caller& the_caller) : caller(the_caller) {}
  void OnComplete(bool /*ok*/) override { caller.OnTry(*this); }

  Caller& caller;
  Operation* operation = nullptr;  // nullptr: another try was answered
  std::size_t endpoint = 0;
  Time sent = 0;
  Time ends = kNever;  // by this clock: gRPC's timers follow the wall clock
  std::string token;
  grpc::ClientContext context;
  grpc::ByteBuffer response;
  grpc::Status status;
  std::unique_ptr<grpc::GenericClientAsyncResponseReader> reader;
};

Caller::Caller(const EtcdOptions& options, const EtcdSecrets& secrets, std::function<Time()> boot)
    : options_(options), secrets_(secrets), boot_(std::move(boot)), endpoints_(options, secrets) {}

Caller::~Caller() {
  for (const auto& [tried, owner] : tries_) {
    tried->operation = nullptr;
    tried->context.TryCancel();
  }
}

void Caller::Call(const CallPlan& plan, const std::string& request, Done done) {
  GS_DCHECK(OnLoop());
  auto operation = std::make_unique<Operation>();
  operation->plan = plan;
  operation->hedge = plan.hedge;
  operation->request = Buffer(request);
  operation->done = std::move(done);
  operation->failed.assign(endpoints_.size(), 0);
  operations_.push_back(std::move(operation));
  Start(*operations_.back(), boot_());
}

Time Caller::Tick(Time now) {
  Time next = kNever;
  // Start may begin to log in, which adds an operation.
  for (auto at = operations_.begin(); at != operations_.end(); ++at) {
    for (Try* const each : (*at)->tries) {
      if (each->ends <= now) {
        each->context.TryCancel();
        each->ends = kNever;
      }
      next = std::min(next, each->ends);
    }
    if ((*at)->next_try <= now) Start(**at, now);
    next = std::min(next, (*at)->next_try);
  }
  return next;
}

void Caller::Prepare(grpc::ClientContext& context, Time limit) const {
  if (limit > 0) context.set_deadline(gpr_time_from_nanos(limit, GPR_TIMESPAN));
  if (!token_.empty()) context.AddMetadata("token", token_);
}

// Starts the next try, if there is an endpoint for it.
void Caller::Start(Operation& operation, Time now) {
  operation.next_try = kNever;
  if (operation.plan.only) return StartTry(operation, *operation.plan.only);
  if (MustLogIn() && !operation.plan.anonymous) return LogIn();
  if (const std::optional<std::size_t> endpoint = FreeEndpoint(operation, now)) {
    StartTry(operation, *endpoint);
    operation.next_try = now + operation.hedge;
    if (operation.plan.is_large) operation.hedge *= 2;
  } else {
    operation.next_try = now + kFailedPause;
  }
}

// The best endpoint that has neither just failed nor been tried of late. What a node passed on to a
// leader that was dying is lost, so a try that waits for its answer does not keep the node from
// being tried again.
std::optional<std::size_t> Caller::FreeEndpoint(const Operation& operation, Time now) const {
  for (const std::size_t endpoint : endpoints_.order()) {
    if (endpoints_.at(endpoint).foreign) continue;
    const Time failed = operation.failed[endpoint];
    const bool busy =
        std::any_of(operation.tries.begin(), operation.tries.end(), [&](const Try* each) {
          return each->endpoint == endpoint && now < each->sent + 2 * operation.hedge;
        });
    if (!busy && (failed == 0 || now >= failed + kFailedPause)) return endpoint;
  }
  return std::nullopt;
}

void Caller::StartTry(Operation& operation, std::size_t endpoint) {
  auto owner = std::make_unique<Try>(*this);
  Try& started = *owner;
  tries_[&started] = std::move(owner);
  operation.tries.push_back(&started);
  started.operation = &operation;
  started.endpoint = endpoint;
  started.token = token_;
  Prepare(started.context, operation.plan.limit);
  started.sent = boot_();
  if (operation.plan.limit > 0) started.ends = started.sent + operation.plan.limit + kSecond;
  if (operation.first_sent == 0) {
    operation.first_sent = started.sent;
  } else if (operation.plan.append) {
    ++append_retries_;
  }
  started.reader = endpoints_.Stub(endpoint, operation.plan.lane)
                       .PrepareUnaryCall(&started.context, operation.plan.method, operation.request,
                                         &completions_.queue());
  started.reader->StartCall();
  started.reader->Finish(&started.response, &started.status, &started);
}

void Caller::OnTry(Try& finished) {
  const auto owner = tries_.extract(&finished);
  if (finished.operation == nullptr) return;
  Operation& operation = *finished.operation;
  std::erase(operation.tries, &finished);
  CallAnswer answer;
  const Outcome outcome = Judge(finished, answer);
  if (outcome == Outcome::kAnswered || operation.plan.only) {
    return Answer(operation, finished, answer);
  }
  const Time now = boot_();
  // A try whose time is over says nothing about the endpoint as it is now.
  const grpc::StatusCode code = finished.status.error_code();
  const bool refused = code != grpc::DEADLINE_EXCEEDED && code != grpc::CANCELLED;
  if (refused) operation.failed[finished.endpoint] = now;
  if (code == grpc::UNAVAILABLE) endpoints_.OnRefused(finished.endpoint, operation.plan.lane);
  if (outcome == Outcome::kLater) {
    operation.next_try = now + kRefusedPause;
    return;
  }
  if (outcome == Outcome::kLogIn) {
    if (token_ == finished.token) {
      token_.clear();
      no_login_ = false;
    }
    operation.failed[finished.endpoint] = 0;
  } else if (endpoints_.order().front() == finished.endpoint) {
    endpoints_.PutLast(finished.endpoint);
  }
  // A refusal must not use up the turn of an endpoint that would answer.
  const bool turn_is_free = refused && outcome == Outcome::kAgain;
  if (turn_is_free || operation.tries.empty()) Start(operation, now);
}

Caller::Outcome Caller::Judge(const Try& finished, CallAnswer& answer) {
  answer.endpoint = finished.endpoint;
  answer.sent = finished.sent;
  answer.first_sent = finished.operation->first_sent;
  if (!finished.status.ok()) return JudgeError(finished, answer.result);
  answer.bytes = Bytes(finished.response);
  if (!OfThisCluster(finished.endpoint, ClusterOf(answer.bytes))) {
    NoteTrouble(finished, foreign_);
    answer.result = FailedWith({Code::kInvalid, foreign_});
    return settled_ ? Outcome::kAgain : Outcome::kAnswered;
  }
  NoteTrouble(finished, {});
  return Outcome::kAnswered;
}

// A call to one node alone says nothing about the cluster.
void Caller::NoteTrouble(const Try& finished, std::string trouble) {
  const CallPlan& plan = finished.operation->plan;
  if (!plan.only) (plan.append ? append_trouble_ : trouble_) = std::move(trouble);
}

// Classifies an error. Most errors leave the outcome unknown, so that case is the last.
Caller::Outcome Caller::JudgeError(const Try& finished, StoreResult& result) {
  const std::string& message = finished.status.error_message();
  const grpc::StatusCode code = finished.status.error_code();
  const EndpointName& endpoint = endpoints_.at(finished.endpoint).name;
  const std::string error =
      fmt::format("{}: {}{}", endpoint.address, message, AdviceOn(endpoint, message));
  NoteTrouble(finished, error);
  result = FailedWith({Code::kIo, error});
  const auto answered = [&result](StoreResult with) {
    result = std::move(with);
    return Outcome::kAnswered;
  };
  if (Says(message, "space exceeded")) {
    NoteTrouble(finished, {});
    return answered({StoreAnswer::kFull, {Code::kJournal, error}});
  }
  if (Says(message, "has been compacted")) {
    return answered({StoreAnswer::kTrimmed, {Code::kJournal, error}});
  }
  if (Says(message, "authentication is not enabled")) return answered({});
  // Authentication may have been enabled since.
  const bool nameless = !options_.user.empty() && Says(message, "user name is empty");
  if (code == grpc::UNAUTHENTICATED || nameless || Says(message, "auth store is old") ||
      Says(message, "invalid auth token")) {
    return Outcome::kLogIn;
  }
  if (Says(message, "too large") || Says(message, "larger than max")) {
    return answered(
        FailedWith({Code::kInvalid,
                    "etcd refuses a request for its size (raise --max-request-bytes): " + error}));
  }
  const bool refused = code == grpc::PERMISSION_DENIED || code == grpc::INVALID_ARGUMENT ||
                       code == grpc::UNIMPLEMENTED || code == grpc::FAILED_PRECONDITION;
  if (!refused) return Outcome::kAgain;
  if (!settled_) return answered(FailedWith({Code::kInvalid, "etcd refuses: " + error}));
  Log(LogLevel::kError, "etcd refuses a request; it is repeated each second", {{"error", error}});
  return Outcome::kLater;
}

void Caller::Answer(Operation& operation, const Try& winner, const CallAnswer& answer) {
  if (answer.result.done()) endpoints_.OnAnswer(winner.endpoint);
  for (Try* each : operation.tries) {
    if (each->sent <= winner.sent && each->endpoint != winner.endpoint) {
      endpoints_.OnOvertaken(each->endpoint);
    }
    each->operation = nullptr;
    each->context.TryCancel();
  }
  const auto at = std::find_if(operations_.begin(), operations_.end(),
                               [&](const auto& each) { return each.get() == &operation; });
  const std::unique_ptr<Operation> owner = std::move(*at);
  operations_.erase(at);
  owner->done(answer);
}

bool Caller::OfThisCluster(std::size_t endpoint, std::uint64_t cluster_id) {
  if (cluster_id == 0) return true;
  if (cluster_id_ == 0) {
    cluster_id_ = cluster_id;
    cluster_of_ = endpoint;
  }
  const bool foreign = cluster_id != cluster_id_;
  if (foreign) {
    foreign_ =
        fmt::format("etcd.endpoints: {} and {} belong to different clusters",
                    endpoints_.at(cluster_of_).name.address, endpoints_.at(endpoint).name.address);
  }
  if (foreign && settled_ && !endpoints_.at(endpoint).foreign) {
    Log(LogLevel::kError, "an endpoint belongs to another cluster and is not used",
        {{"error", foreign_}});
  }
  endpoints_.at(endpoint).foreign = foreign;
  return !foreign;
}

void Caller::LogIn() {
  if (login_ != nullptr) return;
  const CallPlan plan{.method = "/etcdserverpb.Auth/Authenticate",
                      .hedge = kSecond,
                      .limit = 5 * kSecond,
                      .anonymous = true};
  Call(plan, LoginRequest(), [this](const CallAnswer& answer) { OnLogIn(answer); });
  login_ = operations_.back().get();
}

std::string Caller::LoginRequest() const {
  AuthenticateRequest request;
  request.set_name(options_.user);
  request.set_password(secrets_.password);
  return request.SerializeAsString();
}

void Caller::OnLogIn(const CallAnswer& answer) {
  login_ = nullptr;
  if (answer.result.done()) {
    AuthenticateResponse response;
    response.ParseFromString(answer.bytes);
    token_ = response.token();
    no_login_ = token_.empty();
  }
  const Time now = boot_();
  // The operations that waited for the login; their calls may add others.
  std::vector<Operation*> waiting;
  for (const auto& each : operations_) {
    if (!each->plan.only && each->next_try == kNever) waiting.push_back(each.get());
  }
  for (Operation* each : waiting) {
    if (answer.result.done()) {
      Start(*each, now);
    } else {
      Answer(*each, Try(*this), answer);
    }
  }
}

void Caller::Reconnect(const EtcdSecrets& secrets) {
  secrets_ = secrets;
  token_.clear();
  endpoints_.Reconnect(secrets);
  if (login_ == nullptr) return;
  // The request has to carry the new password.
  login_->request = Buffer(LoginRequest());
  login_->next_try = boot_();
}

}  // namespace gearstalk::etcd
