#include "admin/api/audit.h"
#include "admin/api/objects.h"
#include "admin/api/page.h"
#include "admin/api/routes.h"

namespace gearstalk::api {
namespace {

// Newest first. Entries that are forgotten meanwhile are left out.
Task AuditPage(const Audit& audit, Page page) {
  constexpr std::uint64_t kTold = 4;                                        // in a slice
  std::uint64_t before = page.after ? page.after->numbers[0] : UINT64_MAX;  // later ones were told
  while (const Audit::Entry* const entry = audit.Before(before)) {
    before = entry->id;
    ++page.scanned;
    page.Add(ObjectOf(*entry));
    if (page.full()) {
      if (audit.Before(before) != nullptr) page.GoOn({{before}, ""});
      break;
    }
    if (page.scanned % kTold == 0) co_await NextSlice();
  }
  co_return page.Finish();
}

}  // namespace

Reply GetServer(Call& call) { return Reply::Of(ServerObject(call.services, call.now)); }

Reply SetDraining(Call& call) {
  const auto draining = call.fields.Needed("draining", call.fields.Truth("draining"));
  if (!call.fields.Finish()) return call.fields.problem();
  const std::string& user = call.caller.user;
  call.services.broker.SetDraining(*draining, user.empty() ? "the API" : user);
  return Reply::Of({{"draining", call.engine().draining()}});
}

Reply SetLogLevel(Call& call) {
  const std::string level =
      call.fields.Word("level", {"trace", "debug", "info", "warn", "error", "critical", "off"});
  if (level.empty()) call.fields.Fail("level", "is needed");
  if (!call.fields.Finish()) return call.fields.problem();
  call.services.host.SetLogLevel(level);
  return Reply::Of({{"level", call.services.host.LogLevelName()}});
}

// A standby does not come here: it refuses all acts.
Reply StepDown(Call& call) {
  const bool force = call.fields.Truth("force").value_or(false);
  if (!call.fields.Finish()) return call.fields.problem();
  const ReplicaStats& replica = call.engine().journal().Replica();
  if (!replica.shared) {
    return Problem{"not-found", "no other broker shares the journal of this one"};
  }
  if (!force && !replica.caught_up) {
    return Problem{"no-standby",
                   "nobody would take over at once: start a standby, or ask with \"force\":true"};
  }
  call.services.broker.StepDown();
  return Reply::Of({{"stepping_down", true}}, 202);
}

Reply GetAudit(Call& call) {
  Page page = Page::Of(call, 1);
  if (!call.fields.Finish()) return call.fields.problem();
  return AuditPage(call.services.audit, std::move(page));
}

}  // namespace gearstalk::api
