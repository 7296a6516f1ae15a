#include <fmt/format.h>

#include "admin/api/audit.h"
#include "admin/api/fields.h"
#include "admin/api/handlers.h"
#include "admin/api/page.h"
#include "admin/api/server_object.h"

namespace gearstalk::api {

Reply GetServer(Call& call) {
  return Reply::Of(ServerObject(call.engine(), call.services.connections, call.services.host,
                                call.services.history, call.now));
}

Reply SetDraining(Call& call) {
  Fields fields = Fields::OfObject(call.body);
  const auto draining = fields.Truth("draining");
  if (fields.ok() && !draining) fields.Fail("draining", "is needed");
  if (!fields.Finish()) return fields.problem();
  const std::string& user = call.caller.user;
  call.services.host.SetDraining(*draining, user.empty() ? "the API" : user);
  return Reply::Of({{"draining", call.engine().draining()}});
}

Reply SetLogLevel(Call& call) {
  Fields fields = Fields::OfObject(call.body);
  const std::string level =
      fields.Word("level", {"trace", "debug", "info", "warn", "error", "critical", "off"});
  if (fields.ok() && level.empty()) fields.Fail("level", "is needed");
  if (!fields.Finish()) return fields.problem();
  call.services.host.SetLogLevel(level);
  return Reply::Of({{"level", call.services.host.LogLevelName()}});
}

// A standby does not come here: it refuses all acts.
Reply StepDown(Call& call) {
  Fields fields = Fields::OfObject(call.body);
  if (!fields.Finish()) return fields.problem();
  if (call.engine().journal().Replica() == nullptr) {
    return Problem{"not-found", "no other broker shares the journal of this one"};
  }
  call.services.host.StepDown();
  return Reply::Of({{"stepping_down", true}}, 202);
}

Reply GetAudit(Call& call) {
  Fields fields = Fields::OfQuery(call.request.query);
  Page page;
  page.limit = fields.IntegerOr("limit", 1, kMaxPage, kUsualPage);
  const std::string query = QueryOf(call.request);
  const auto cursor = CursorOf(fields, query, 1);
  if (!fields.Finish()) return fields.problem();
  const auto& entries = call.services.audit.entries();
  const std::uint64_t before = cursor ? cursor->numbers[0] : UINT64_MAX;
  for (auto entry = entries.rbegin(); entry != entries.rend(); ++entry) {
    ++page.scanned;
    if (entry->id >= before) continue;
    page.Add(ObjectOf(*entry));
    if (page.size < page.limit) continue;
    if (std::next(entry) != entries.rend()) page.next = Cursor{{entry->id}, ""}.Encode(query);
    break;
  }
  return page.Finish();
}

}  // namespace gearstalk::api
