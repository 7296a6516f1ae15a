#pragma once

#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "admin/ctl/api/command.h"
#include "admin/ctl/api/http_client.h"

namespace gearstalk::ctl::api {

using Json = nlohmann::ordered_json;
struct QueryPart {
  std::string name, value;
  bool even_empty = false;
};
using Query = std::vector<QueryPart>;

// The broker's API as commands use it. A call that fails tells the user why on standard error, and
// leaves the exit code in `exit_code`.
class Api {
 public:
  explicit Api(const Settings& settings) : settings_(settings), client_(settings) {}

  // Each returns what the server answered; nothing: the call failed. Paths begin behind /api/v1.
  std::optional<Json> Get(const std::string& path);
  std::optional<Json> Post(const std::string& path, const Json& body = Json::object(),
                           const std::string& idempotency_key = {});
  std::optional<Json> Put(const std::string& path, const Json& body);
  std::optional<Json> Delete(const std::string& path);
  // The bytes of an answer that is no JSON.
  bool GetBytes(const std::string& path, std::string& bytes);
  // The text of a page beside the API, such as /healthz, whatever its status. False: no answer.
  bool GetPage(const std::string& path, std::string& text);
  // Calls `visit` with each piece of a stream until it returns false.
  bool Stream(const std::string& path, std::function<bool(std::string_view)> visit);

  // All items of a list, page after page, `limit` at most. `first` gets the first page without its
  // items.
  std::optional<Json> List(const std::string& path, const Query& query, std::size_t limit,
                           Json* first = nullptr);

  // Tells the user why a command fails, in a line of JSON with --json as the server's problems are
  // told. Returns the exit code.
  int Fail(int exit_code, std::string_view code, const std::string& detail);
  int exit_code() const { return exit_code_; }
  const Settings& settings() const { return settings_; }

 private:
  std::optional<HttpReply> Ask(HttpRequest request);
  std::optional<Json> AskJson(HttpRequest request);
  Result<HttpReply> Send(const HttpRequest& request);
  bool Complain(const HttpReply& reply);

  const Settings& settings_;
  HttpClient client_;
  int exit_code_ = kDone;
};

// Completes the settings and lets `use` speak to the server; returns its exit code.
int UseApi(const Settings& settings, const std::function<int(Api&)>& use);

// The call of a function that speaks to the server.
template <typename Options>
Call BindApi(int (*run)(Api& api, const Options& options)) {
  return Bind<Options>([run](const Settings& settings, const Options& options) {
    return UseApi(settings, [&](Api& api) { return run(api, options); });
  });
}
// The same with one parameter, which is `usual` if it is not given.
template <typename T>
Call BindApi(int (*run)(Api& api, const T& value), std::string_view name, std::string_view help,
             const Rules& rules = kRequired, const T& usual = {}) {
  const auto value = std::make_shared<T>(usual);
  return {{{name, value.get(), help, rules}}, [run, value](const Settings& settings) {
            return UseApi(settings, [&](Api& api) { return run(api, *value); });
          }};
}
inline Call BindApi(int (*run)(Api& api)) {
  return {{}, [run](const Settings& settings) { return UseApi(settings, run); }};
}

using Printer = std::function<void(const Json&)>;
// Prints an answer as it came with --json, else what `show` prints. Returns kDone, or the exit code
// of the call that failed.
int Print(const Api& api, const std::optional<Json>& answer, const Printer& show);
// Prints a list: {"items":[...]} with --json, else what `show` prints of the items.
int PrintItems(const Api& api, const std::optional<Json>& items, const Printer& show);

// Sets the member `name` to a text; to bytes that are no UTF-8 as `name`_base64.
void SetBytes(Json& object, const std::string& name, std::string_view bytes);

// "/tubes/NAME", where a name that proxies might rewrite is written as ~base64url.
std::string TubePath(std::string_view tube);
std::string JobPath(std::uint64_t id);
// "PATH?a=b&c=d"; those without a value are left out.
std::string WithQuery(const std::string& path, const Query& query);

}  // namespace gearstalk::ctl::api
