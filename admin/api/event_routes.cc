#include <algorithm>

#include "admin/api/events.h"
#include "admin/api/fields.h"
#include "admin/api/handlers.h"
#include "admin/api/names.h"

namespace gearstalk::api {
namespace {

constexpr std::size_t kMaxTubes = 100;

// The names behind the refs. Tubes that the caller may not see are left out, as tubes that do not
// exist are.
std::vector<std::string> TubesOf(Fields& fields, const Grant& grant) {
  std::vector<std::string> names;
  const std::string text = fields.Text("tubes").value_or("");
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    const std::optional<std::string> name = NameOfRef(text.substr(at, end - at));
    if (!name) fields.Fail("tubes", "expected refs of tubes");
    if (name && grant.Sees(*name)) names.push_back(*name);
    at = end + 1;
  }
  if (names.size() > kMaxTubes) fields.Fail("tubes", "at most 100");
  return names;
}

}  // namespace

Reply GetEvents(Call& call) {
  Fields fields = Fields::OfQuery(call.request.query);
  std::vector<std::string> words =
      fields.Words("topics", {"server", "tube", "operation", "audit", "notice"});
  if (!fields.Has("topics")) words = {"server", "notice"};
  const auto wants = [&](std::string_view topic) {
    return std::find(words.begin(), words.end(), topic) != words.end();
  };
  Events::Topics topics{.server = wants("server"),
                        .tube = wants("tube"),
                        .operation = wants("operation"),
                        .audit = wants("audit"),
                        .notice = wants("notice"),
                        .tubes = TubesOf(fields, call.caller.grant)};
  if (!fields.Finish()) return fields.problem();
  const Grant& grant = call.caller.grant;
  if ((topics.operation || topics.audit) && grant.role < Role::kOperator) {
    return Problem{"forbidden", "audit and operation need the role operator", "topics"};
  }
  if (topics.audit && !grant.SeesAll()) {
    return Problem{"forbidden", "audit needs access to all tubes (*)", "topics"};
  }
  Reply reply;
  reply.type = "text/event-stream";
  reply.feed = call.services.events.Open(call.caller, std::move(topics));
  if (reply.feed == nullptr) return Problem{"busy", "there are as many event streams as allowed"};
  return reply;
}

}  // namespace gearstalk::api
