#include <fmt/format.h>

#include "admin/api/answers.h"
#include "admin/api/guard.h"
#include "admin/api/routes.h"
#include "admin/api/side_thread.h"

namespace gearstalk::api {
namespace {

Json SessionObject(const Caller& caller) {
  constexpr std::string_view kVias[] = {"", "token", "cookie", "anonymous"};
  const bool nobody = caller.grant.role == Role::kNone;
  Json can = Json::array();
  for (const std::string_view action : ActionsOf(caller.grant)) can.push_back(action);
  Json tubes = Json::array();
  if (!nobody) {
    for (const std::string& pattern : caller.grant.tubes) tubes.push_back(TextOf(pattern));
  }
  return {{"user", TextOrNull(caller.user)},
          {"role", OrNull(!nobody, NameOf(caller.grant.role))},
          {"bodies", !nobody && caller.grant.bodies},
          {"tubes", tubes},
          {"via", OrNull(!nobody, kVias[static_cast<std::size_t>(caller.via)])},
          {"expires_at", TimeOrNull(caller.expires)},
          {"can", can}};
}

std::string Cookie(const Call& call, std::string_view value, Time lasts) {
  const std::string& base = call.services.guard.settings().base_path;
  const std::string* const scheme = call.request.Header("x-forwarded-proto");
  return fmt::format("{}{}; Path={}; Max-Age={}; HttpOnly; SameSite=Strict{}", Guard::kCookieStart,
                     value, base.empty() ? "/" : base, lasts / kSecond,
                     scheme != nullptr && *scheme == "https" ? "; Secure" : "");
}

}  // namespace

Reply GetIndex(Call& call) {
  Json paths = Json::array();
  for (const Route& route : Routes()) {
    const Json path = route.path;
    if (std::find(paths.begin(), paths.end(), path) == paths.end()) paths.push_back(path);
  }
  return Reply::Of(
      {{"api", 1}, {"version", call.services.host.Facts().version}, {"paths", std::move(paths)}});
}

Reply GetOpenApi(Call& call) {
  return OnSideThread(call.services.side, [version = call.services.host.Facts().version,
                                           root = LocationOf(call.services, "")] {
    return Dump(OpenApi(version, root));
  });
}

Reply GetSession(Call& call) { return Reply::Of(SessionObject(call.caller)); }

Reply OpenSession(Call& call) {
  const auto token = call.fields.Needed("token", call.fields.Text("token"));
  if (!call.fields.Finish()) return call.fields.problem();
  if (auto problem = call.services.guard.OpenSession(*token, call.now, call.caller)) {
    return std::move(*problem);
  }
  return Reply::Of(SessionObject(call.caller), 201)
      .With("Set-Cookie", Cookie(call, call.caller.session, Guard::kSessionLasts));
}

Reply CloseSession(Call& call) {
  if (!call.caller.session.empty()) call.services.guard.CloseSession(call.caller.session);
  return Reply::Empty().With("Set-Cookie", Cookie(call, "", 0));
}

}  // namespace gearstalk::api
