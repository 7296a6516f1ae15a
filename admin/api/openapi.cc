// OpenAPI 3.0 from the route table; the schemas are in schemas.cc.

#include <fmt/format.h>

#include <algorithm>

#include "admin/api/parameters.h"
#include "admin/api/routes.h"
#include "admin/api/schemas.h"

namespace gearstalk::api {
namespace {

Json Reference(std::string_view schema) {
  return {{"$ref", fmt::format("#/components/schemas/{}", schema)}};
}

Json Content(std::string_view type, Json schema) {
  return {{std::string(type), {{"schema", std::move(schema)}}}};
}

Json Parameter(std::string_view name, std::string_view in, Json schema) {
  return {{"name", name}, {"in", in}, {"required", in == "path"}, {"schema", std::move(schema)}};
}

template <typename Visit>
void ForEachWord(std::string_view words, Visit visit) {
  while (!words.empty()) {
    const std::size_t end = std::min(words.find(' '), words.size());
    if (end > 0) visit(words.substr(0, end));
    words.remove_prefix(std::min(end + 1, words.size()));
  }
}

Json ParametersOf(const Route& route) {
  Json parameters = Json::array();
  for (std::size_t at = route.path.find('{'); at != std::string_view::npos;
       at = route.path.find('{', at + 1)) {
    const std::string_view name = route.path.substr(at + 1, route.path.find('}', at) - at - 1);
    parameters.push_back(Parameter(name, "path", {{"type", name == "id" ? "integer" : "string"}}));
  }
  ForEachWord(route.query, [&](std::string_view name) {
    parameters.push_back(QueryParameter(route.path, name));
  });
  if (route.method == "POST") {
    parameters.push_back(Parameter("Idempotency-Key", "header",
                                   {{"type", "string"}, {"pattern", "^[A-Za-z0-9._-]{1,64}$"}}));
  }
  return parameters;
}

Json AnswerOf(const Route& route) {
  Json answer = {{"description", route.summary}};
  if (!route.answer.empty()) {
    answer["content"] = Content("application/json", Reference(route.answer));
  } else if (route.path == "/events") {
    answer["content"] = Content("text/event-stream", {{"type", "string"}});
  } else if (route.statuses == "200") {
    answer["content"] =
        Content("application/octet-stream", {{"type", "string"}, {"format", "binary"}});
  }
  return answer;
}

Json OperationOf(const Route& route) {
  constexpr std::string_view kRights[] = {"anybody", "viewer", "operator", "admin",
                                          "viewer+bodies"};
  Json responses = Json::object();
  ForEachWord(route.statuses,
              [&](std::string_view status) { responses[std::string(status)] = AnswerOf(route); });
  responses["default"] = {{"description", "A problem"},
                          {"content", Content("application/problem+json", Reference("Problem"))}};
  Json operation = {{"summary", route.summary},
                    {"x-right", kRights[static_cast<std::size_t>(route.right)]},
                    {"parameters", ParametersOf(route)},
                    {"responses", std::move(responses)}};
  if (!route.action.empty()) operation["x-action"] = route.action;
  if (!route.body.empty()) {
    operation["requestBody"] = {{"required", true},
                                {"content", Content("application/json", Reference(route.body))}};
  }
  return operation;
}

}  // namespace

Json OpenApi(std::string_view version, std::string_view root) {
  Json paths = Json::object();
  for (const Route& route : Routes()) {
    std::string method(route.method);
    std::transform(method.begin(), method.end(), method.begin(),
                   [](char c) { return static_cast<char>(c + ('a' - 'A')); });
    paths[std::string(route.path)][method] = OperationOf(route);
  }
  return {
      {"openapi", "3.0.3"},
      {"info", {{"title", "gearstalkd"}, {"version", version}}},
      {"servers", Json::array({{{"url", root}}})},
      {"security", Json::array({{{"token", Json::array()}}, {{"session", Json::array()}}})},
      {"paths", std::move(paths)},
      {"components",
       {{"schemas", Schemas()},
        {"securitySchemes",
         {{"token", {{"type", "http"}, {"scheme", "bearer"}}},
          {"session", {{"type", "apiKey"}, {"in", "cookie"}, {"name", "gearstalk_session"}}}}}}}};
}

}  // namespace gearstalk::api
