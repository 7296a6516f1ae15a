#include "admin/ctl/api/api.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdio>

#include "admin/ctl/api/text.h"
#include "broker/base/base64.h"
#include "broker/base/utf8.h"

namespace gearstalk::ctl::api {
namespace {

constexpr std::size_t kPage = 500;  // what the API gives at most

int ExitCodeOf(int status) {
  if (status == 404) return kNotFound;
  return status == 401 || status == 403 ? kNotAllowed : kFailed;
}

}  // namespace

int Api::Fail(int exit_code, std::string_view code, const std::string& detail) {
  exit_code_ = exit_code;
  if (settings_.json) {
    std::fputs((Json{{"code", code}, {"detail", detail}}.dump() + "\n").c_str(), stderr);
  } else {
    Tell(detail);
  }
  return exit_code;
}

Result<HttpReply> Api::Send(const HttpRequest& request) {
  Result<HttpReply> reply = client_.Send(request);
  if (reply.ok()) {
    exit_code_ = kDone;
  } else if (reply.status().code() == Code::kInvalid) {
    Fail(kBadUsage, "bad-url", reply.status().message());
  } else {
    Fail(kNotReachable, "not-reachable", reply.status().message());
  }
  return reply;
}

bool Api::Complain(const HttpReply& reply) {
  exit_code_ = ExitCodeOf(reply.status);
  const Json problem = Json::parse(reply.body, nullptr, false);
  if (problem.is_discarded() || !problem.is_object()) {
    Fail(exit_code_, "no-api",
         fmt::format("{}: HTTP {} without an object of the API", settings_.server, reply.status));
    return false;
  }
  if (problem.value("code", "") == "count-mismatch") exit_code_ = kNotConfirmed;
  if (settings_.json) {
    std::fputs((problem.dump() + "\n").c_str(), stderr);
    return false;
  }
  return Tell(fmt::format("{} ({})", Visible(problem.value("detail", "refused")),
                          problem.value("code", fmt::format("{}", reply.status))));
}

std::optional<HttpReply> Api::Ask(HttpRequest request) {
  request.path.insert(0, "/api/v1");
  Result<HttpReply> reply = Send(request);
  if (!reply.ok()) return std::nullopt;
  if (reply->status >= 200 && reply->status < 300) return std::move(reply.value());
  Complain(reply.value());
  return std::nullopt;
}

std::optional<Json> Api::AskJson(HttpRequest request) {
  const std::optional<HttpReply> reply = Ask(std::move(request));
  if (!reply) return std::nullopt;
  std::optional<Json> answer(std::in_place);
  if (!reply->body.empty()) answer = Json::parse(reply->body, nullptr, false);
  if (!answer->is_discarded()) return answer;
  Fail(kFailed, "no-api", fmt::format("{}: the answer is no JSON", settings_.server));
  return std::nullopt;
}

std::optional<Json> Api::Get(const std::string& path) { return AskJson({.path = path}); }

bool Api::GetPage(const std::string& path, std::string& text) {
  Result<HttpReply> reply = Send({.path = path});
  if (!reply.ok()) return false;
  text = std::move(reply->body);
  exit_code_ = reply->status == 200 ? kDone : kFailed;
  return true;
}

std::optional<Json> Api::Post(const std::string& path, const Json& body,
                              const std::string& idempotency_key) {
  HttpRequest request{.method = "POST", .path = path, .body = body.dump()};
  if (!idempotency_key.empty()) request.headers.push_back("Idempotency-Key: " + idempotency_key);
  return AskJson(std::move(request));
}

std::optional<Json> Api::Put(const std::string& path, const Json& body) {
  return AskJson({.method = "PUT", .path = path, .body = body.dump()});
}

std::optional<Json> Api::Delete(const std::string& path) {
  return AskJson({.method = "DELETE", .path = path});
}

bool Api::GetBytes(const std::string& path, std::string& bytes) {
  std::optional<HttpReply> reply = Ask({.path = path});
  if (reply) bytes = std::move(reply->body);
  return reply.has_value();
}

bool Api::Stream(const std::string& path, std::function<bool(std::string_view)> visit) {
  return Ask({.path = path, .on_data = std::move(visit)}).has_value();
}

std::optional<Json> Api::List(const std::string& path, const Query& query, std::size_t limit,
                              Json* first) {
  std::optional<Json> items = Json::array();
  std::string cursor;
  while (items->size() < limit) {
    Query page = query;
    page.push_back({"limit", fmt::format("{}", std::min(limit - items->size(), kPage))});
    page.push_back({"cursor", cursor});
    std::optional<Json> answer = Get(WithQuery(path, page));
    if (!answer) return std::nullopt;
    for (Json& item : (*answer)["items"]) items->push_back(std::move(item));
    answer->erase("items");
    if (first != nullptr && cursor.empty()) *first = *answer;
    const Json& next = (*answer)["next"];
    if (!next.is_string()) break;
    cursor = next.get<std::string>();
  }
  return items;
}

int UseApi(const Settings& settings, const std::function<int(Api&)>& use) {
  Settings complete = settings;
  if (const Status status = Complete(complete); !status.ok()) return Fail(status);
  Api api(complete);
  return use(api);
}

int Print(const Api& api, const std::optional<Json>& answer, const Printer& show) {
  if (!answer) return api.exit_code();
  if (api.settings().json) {
    Say(answer->dump());
  } else {
    show(*answer);
  }
  return kDone;
}

int PrintItems(const Api& api, const std::optional<Json>& items, const Printer& show) {
  if (!items || !api.settings().json) return Print(api, items, show);
  Json list;
  list["items"] = *items;
  Say(list.dump());
  return kDone;
}

void SetBytes(Json& object, const std::string& name, std::string_view bytes) {
  if (IsUtf8(bytes)) {
    object[name] = bytes;
  } else {
    object[name + "_base64"] = ToBase64(bytes);
  }
}

std::string TubePath(std::string_view tube) {
  const bool plain = tube != "." && tube != ".." && !tube.empty() &&
                     std::all_of(tube.begin(), tube.end(), [](unsigned char c) {
                       return c < 128 && (std::isalnum(c) != 0 || c == '.' || c == '_' || c == '-');
                     });
  return "/tubes/" + (plain ? std::string(tube) : "~" + ToBase64Url(tube));
}

std::string JobPath(std::uint64_t id) { return fmt::format("/jobs/{}", id); }

std::string WithQuery(const std::string& path, const Query& query) {
  std::string text = path;
  char before = '?';
  for (const auto& [name, value, even_empty] : query) {
    if (value.empty() && !even_empty) continue;
    text += before;
    text += name + "=" + UrlEncoded(value);
    before = '&';
  }
  return text;
}

}  // namespace gearstalk::ctl::api
