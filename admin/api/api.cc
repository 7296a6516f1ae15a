#include "admin/api/api.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <utility>

#include "admin/api/answers.h"
#include "admin/api/json.h"

namespace gearstalk::api {
namespace {

constexpr std::size_t kMaxBody = 2 << 20;          // bytes
constexpr std::size_t kMaxBodyOfStrangers = 4096;  // bytes
constexpr std::size_t kMaxKey = 64;
// Bytes of a request's body that are read on the loop, in much less than a millisecond.
constexpr std::size_t kReadAtOnce = 16 * 1024;
constexpr std::size_t kMostValues = 1000;  // in it

bool GoodKey(std::string_view key) {
  return !key.empty() && key.size() <= kMaxKey &&
         std::all_of(key.begin(), key.end(), [](unsigned char c) {
           return std::isalnum(c) != 0 || c == '.' || c == '_' || c == '-';
         });
}

// What an act is about, by its path.
void DescribeAct(Call& call, const Match& match) {
  call.act.action = match.route->action;
  if (call.act.action.empty() || match.arguments.empty()) return;
  if (match.route->path.starts_with("/tubes/")) {
    call.act.tube = NameOfRef(match.arguments[0]).value_or("");
  } else if (match.route->path.starts_with("/jobs/")) {
    call.act.job = NumberOf(match.arguments[0]);
    if (const Job* job = call.engine().Find(call.act.job)) call.act.tube = job->tube().name();
  }
}

bool Acts(const HttpRequest& request) {
  return request.method == "POST" || request.method == "PUT";
}

// Whether the parts of the path that name something are well-formed.
std::optional<Problem> CheckPath(const Match& match) {
  std::string decoded;
  for (const std::string& argument : match.arguments) {
    if (PercentDecode(argument, false, decoded)) continue;
    return Problem{"bad-request", fmt::format("{}: a '%' needs two hexadecimal digits", argument)};
  }
  if (match.route->path.starts_with("/tubes/{tube}") && !NameOfRef(match.arguments[0])) {
    return Problem{"bad-request", fmt::format("{}: what follows '~' is no base64url of a name",
                                              match.arguments[0])};
  }
  return std::nullopt;
}

// What is hashed with the body of a request that has an Idempotency-Key; empty: it has none.
std::string HashedWith(const HttpRequest& request) {
  return request.Header("idempotency-key") == nullptr ? "" : request.path + '\n';
}

// The problem of a request that the HTTP server refused.
Problem RefusalOf(int status) {
  switch (status) {
    case 413:
    case 431:
      return {"too-large",
              "a request has at most 8 KB of head and 2 MiB of body; only operators may send more "
              "than 4 KB of body"};
    case 503:
      return {"busy", "too many answers are being made: ask again in a moment"};
    case 505:
      return {"http-version", "HTTP/1.1 and HTTP/1.0 are spoken here"};
    default:
      return {"bad-request", "the request is not valid HTTP/1.1"};
  }
}

}  // namespace

const Idempotency::Entry* Idempotency::Begin(const std::string& key, const Sha256& request,
                                             Time now) {
  while (!order_.empty() && (order_.front().first + kLasts <= now || order_.size() >= kKept)) {
    const auto found = entries_.find(order_.front().second);
    if (found != entries_.end() && found->second.at == order_.front().first) {
      entries_.erase(found);
    }
    order_.pop_front();
  }
  const auto [at, made] = entries_.try_emplace(key);
  if (!made) return &at->second;
  at->second.request = request;
  at->second.at = now;
  order_.emplace_back(now, key);
  return nullptr;
}

void Idempotency::Finish(const std::string& key, const Reply& reply) {
  const auto found = entries_.find(key);
  if (found != entries_.end()) found->second.answer = reply;
}

// The parsed body of a request.
struct Api::Document {
  std::optional<Json> body;  // nothing: it is no JSON object
  Sha256 hash{};             // of path and body, if there is a key of idempotency
};

// A request whose answer a task makes. If the client leaves before the end, or if no slot is free,
// the destructor forgets the key and records `stopped` or `busy`.
struct Api::UnderWay {
  Api& api;
  Ending ending;
  bool begun = false, done = false;

  ~UnderWay() {
    if (done) return;
    if (!ending.key.empty()) api.idempotency_.Forget(ending.key);
    api.Record(ending, begun ? "stopped" : "busy", api.services_.Now());
  }
};

// The side thread parses the large body of the request, which must not change until it is answered.
HttpTask Api::AnswerWhenRead(HttpRequest& request, Match match, Ending ending) {
  SideResult<Document> document(
      side_, [body = std::exchange(request.body, {}), acts = Acts(request),
              hashed = HashedWith(request)] { return Read(body, acts, hashed); });
  while (!document.done()) co_await NextSlice();
  Call call{services_, request, ending.caller, services_.Now(), ending.request_id};
  call.arguments = match.arguments;
  DescribeAct(call, match);
  // The caller's rights may have changed meanwhile.
  std::optional<Document>& read = *document;
  if (!read) co_return Respond(call, match, NoMemory(), {}, ending);
  co_return Respond(call, match, Permit(call, match), *std::move(read), ending);
}

HttpTask Api::AnswerInSlices(Task task, std::unique_ptr<UnderWay> request) {
  request->begun = true;
  for (bool more = true; more;) {
    more = task.Advance();
    request->ending.act.count = task.made().count;
    if (more) co_await NextSlice();
  }
  request->done = true;
  co_return Finish(std::move(*task.made().result), std::move(request->ending), services_.Now());
}

Api::Api(Engine& engine, const ConnectionList& connections, Host& host, BrokerControl& broker,
         Attention& attention, SliceQueue& slices, const std::string& history_file)
    : operations_(engine, slices, audit_),
      history_(engine, connections, attention, slices, history_file),
      services_{engine,      connections, host,      broker,  slices, guard_,   audit_,
                operations_, history_,    attention, events_, side_,  instance_} {
  audit_.Tell([this](const Audit::Entry& entry) {
    if (events_.Heard()) events_.OnAudit(ObjectOf(entry));
  });
}

HttpAnswer::Headers Api::CommonHeaders() {
  return {{"Cache-Control", "no-store"},
          {"X-Content-Type-Options", "nosniff"},
          {"Referrer-Policy", "no-referrer"}};
}

std::string Api::NewRequestId() { return fmt::format("{}-{}", instance_, ++requests_); }

Time Api::Tick(Time now) {
  operations_.Tick(now);
  return std::min(history_.Tick(now), events_.Tick(now));
}

// Only callers who may act may send large bodies.
std::size_t Api::MaxBody(const HttpRequest& head, Time now) {
  const std::string* const length = head.Header("content-length");
  const bool chunked = head.Header("transfer-encoding") != nullptr;
  const bool small = length == nullptr || NumberOf(*length) <= kMaxBodyOfStrangers;
  if (head.Reads() || (small && !chunked)) return kMaxBodyOfStrangers;
  if (guard_.Admit(head)) return kMaxBodyOfStrangers;
  const Caller caller = guard_.Recognise(head, now);
  return caller.grant.role >= Role::kOperator ? kMaxBody : kMaxBodyOfStrangers;
}

HttpAnswer Api::Refuse(int status, const HttpRequest& request, Time now) {
  Problem problem = RefusalOf(status);
  Ending ending;
  ending.request_id = NewRequestId();
  ending.caller.address = guard_.AddressOf(request);
  // What is wrong with its host, type or token may be why the body is too large.
  if (status == 413) {
    std::optional<Problem> why = guard_.Admit(request);
    if (!why) ending.caller = guard_.Identify(request, now, why);
    if (why) problem = std::move(*why);
  }
  return Finish(Reply(std::move(problem)), std::move(ending), now);
}

std::optional<HttpAnswer> Api::RefusesPage(const HttpRequest& request, Time now) {
  std::optional<Problem> problem = guard_.Admit(request);
  Ending ending;
  if (!problem) {
    ending.caller = guard_.Recognise(request, now);
    problem = guard_.NotConfigured(ending.caller);
  }
  if (!problem) return std::nullopt;
  ending.request_id = NewRequestId();
  return Finish(Reply(std::move(*problem)), std::move(ending), now);
}

HttpAnswer Api::Answer(HttpRequest& request, std::string_view path, Time now) {
  Ending ending;
  ending.request_id = NewRequestId();
  ending.caller.address = guard_.AddressOf(request);
  std::optional<Problem> problem = guard_.Admit(request);
  std::optional<Problem> wrong_token;
  if (!problem) ending.caller = guard_.Identify(request, now, wrong_token);
  Match match = FindRoute(request.method, path.empty() ? "/" : path);
  Call call{services_, request, ending.caller, now, ending.request_id};
  call.arguments = match.arguments;
  if (match.route != nullptr) DescribeAct(call, match);
  const bool anybody = match.route != nullptr && match.route->right == Right::kAny;
  if (!problem) problem = guard_.NotConfigured(ending.caller);
  const bool barred = wrong_token && wrong_token->code == "too-many-requests";
  if (!problem && (barred || !anybody)) problem = std::move(wrong_token);
  if (!problem && !anybody && ending.caller.grant.role == Role::kNone) {
    problem = Problem{"unauthenticated", "a token or a session is needed"};
  }
  if (auto too_many = guard_.CountRequest(ending.caller, now)) problem = std::move(too_many);
  if (!problem) problem = Permit(call, match);
  if (!problem && request.body.size() > kReadAtOnce) {
    HttpAnswer answer;
    answer.task = AnswerWhenRead(request, std::move(match), std::move(ending));
    return answer;
  }
  Document document = problem ? Document() : Read(request.body, Acts(request), HashedWith(request));
  return Respond(call, match, std::move(problem), std::move(document), ending);
}

HttpAnswer Api::Respond(Call& call, const Match& match, std::optional<Problem> problem,
                        Document document, Ending& ending) {
  Reply reply = problem ? Reply(std::move(*problem)) : Run(call, match, document, ending);
  if (reply.status == 405) reply.headers.emplace_back("Allow", match.allow);
  ending.act = std::move(call.act);
  return Finish(std::move(reply), std::move(ending), call.now);
}

std::optional<Problem> Api::Permit(const Call& call, const Match& match) const {
  if (match.route == nullptr) {
    if (match.allow.empty()) return Problem{"not-found", "there is no such path"};
    return Problem{"method-not-allowed", fmt::format("the path takes {}", match.allow)};
  }
  if (Allows(call.caller.grant, *match.route)) {
    if (match.route->right == Right::kAny) return std::nullopt;
    const std::string why = services_.broker.WhyNotStarted();
    if (!why.empty()) return Problem{"busy", why};
    if (call.request.Reads()) return std::nullopt;
    const BrokerControl::NoActs refused = services_.broker.WhyNoActs();
    if (refused.code.empty()) return std::nullopt;
    return Problem{refused.code, refused.detail};
  }
  if (match.route->right == Right::kBodies) {
    return Problem{"bodies-forbidden", "the right +bodies is needed"};
  }
  return Problem{"forbidden", match.route->server && !call.caller.grant.SeesAll()
                                  ? "it concerns the server: access to all tubes (*) is needed"
                                  : "the role does not allow it"};
}

// A pure function; the side thread calls it, too.
Api::Document Api::Read(std::string_view body, bool acts, const std::string& hashed_with) {
  Document document;
  if (!hashed_with.empty()) document.hash = HashOf(hashed_with + std::string(body));
  // An empty body is an empty object.
  document.body = !acts || body.empty() ? Json::object() : ParseJson(body, kMostValues);
  if (document.body && !document.body->is_object()) document.body.reset();
  if (document.body) DecodeLongBase64(*document.body);
  return document;
}

Reply Api::Run(Call& call, const Match& match, Document& document, Ending& ending) {
  if (!document.body)
    return Problem{"bad-request", "the body is not a JSON object, or is too large"};
  call.fields = Acts(call.request) ? Fields::OfObject(std::move(*document.body))
                                   : Fields::OfQuery(call.request.query);
  if (auto problem = CheckPath(match)) return std::move(*problem);
  if (match.route->query.empty() && !call.request.query.empty()) {
    const std::string& name = call.request.query[0].first;
    return Problem{"bad-request", fmt::format("{}: unknown parameter", TextOf(name)), name};
  }
  if (auto replayed = Replay(call, document, ending)) return std::move(*replayed);
  return match.route->handler(call);
}

std::optional<Reply> Api::Replay(const Call& call, const Document& document, Ending& ending) {
  const std::string* const key = call.request.Header("idempotency-key");
  if (key == nullptr || call.request.method != "POST") return std::nullopt;
  if (!GoodKey(*key)) {
    return Reply(Problem{"bad-request", "expected 1 to 64 of A-Z, a-z, 0-9, '.', '_' and '-'",
                         "Idempotency-Key"});
  }
  const std::string whole = call.caller.key() + '\n' + *key;
  const Idempotency::Entry* const known = idempotency_.Begin(whole, document.hash, call.now);
  if (known == nullptr) {
    ending.key = whole;
    return std::nullopt;
  }
  if (known->request != document.hash) {
    return Reply(Problem{"idempotency-conflict", "the key was used for another path or body"});
  }
  if (!known->answer) return Reply(Problem{"busy", "the first request is still under way"});
  Reply reply;
  static_cast<HttpContent&>(reply) = *known->answer;
  return std::move(reply).With("Idempotency-Replayed", "true");
}

HttpAnswer Api::Finish(Reply reply, Ending ending, Time now) {
  if (reply.work) {
    HttpAnswer answer;
    answer.task = AnswerInSlices(std::move(reply.work),
                                 std::unique_ptr<UnderWay>(new UnderWay{*this, std::move(ending)}));
    return answer;
  }
  HttpAnswer::Headers headers;  // that go before those of the reply
  if (reply.problem) {
    const Json& more = reply.problem->more;
    if (more.contains("retry_after_seconds")) {
      headers.emplace_back("Retry-After", more["retry_after_seconds"].dump());
    } else if (reply.status == 503) {
      headers.emplace_back("Retry-After", "1");
    }
    if (reply.status == 401) headers.emplace_back("WWW-Authenticate", "Bearer");
    reply.type = "application/problem+json";
    reply.body = Dump(DocumentOf(*reply.problem, ending.request_id));
  }
  if (reply.made != 0) ending.act.job = reply.made;
  const bool replayed = std::any_of(reply.headers.begin(), reply.headers.end(), [](auto& header) {
    return header.first == "Idempotency-Replayed";
  });
  if (!replayed) Record(ending, reply.problem ? reply.problem->code : "ok", now);
  if (!ending.key.empty()) {
    // A repeated request with the same key may succeed later, so server errors are not remembered.
    if (reply.status >= 500) {
      idempotency_.Forget(ending.key);
    } else {
      idempotency_.Finish(ending.key, reply);
    }
  }
  for (auto& header : CommonHeaders()) headers.push_back(std::move(header));
  reply.headers.insert(reply.headers.begin(), headers.begin(), headers.end());
  reply.request_id = std::move(ending.request_id);
  return HttpAnswer(std::move(reply));
}

void Api::Record(const Ending& ending, std::string_view result, Time now) {
  if (ending.act.action.empty()) return;
  audit_.Add(ending.caller, ending.act, result, ending.request_id, now);
}

}  // namespace gearstalk::api
