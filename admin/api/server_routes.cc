#include <fmt/format.h>

#include "admin/api/audit.h"
#include "admin/api/fields.h"
#include "admin/api/handlers.h"
#include "admin/api/page.h"
#include "admin/api/server_object.h"

namespace gearstalk::api {
namespace {

// Newest first. Entries that are forgotten meanwhile are left out.
class AuditPage final : public Task {
 public:
  AuditPage(const Audit& audit, std::uint64_t limit, std::string query, std::uint64_t before)
      : audit_(audit), query_(std::move(query)), before_(before) {
    page_.limit = limit;
  }

  std::optional<Reply> Advance(Time) override {
    for (std::uint64_t told = 0; told < kTold; ++told) {
      const Audit::Entry* const entry = audit_.Before(before_);
      if (entry == nullptr) return page_.Finish();
      before_ = entry->id;
      ++page_.scanned;
      page_.Add(ObjectOf(*entry));
      if (page_.size < page_.limit) continue;
      if (audit_.Before(before_) != nullptr) page_.next = Cursor{{before_}, ""}.Encode(query_);
      return page_.Finish();
    }
    return std::nullopt;
  }

 private:
  static constexpr std::uint64_t kTold = 4;  // in a slice

  const Audit& audit_;
  const std::string query_;
  std::uint64_t before_;  // ids to come are lower
  Page page_;
};

}  // namespace

Reply GetServer(Call& call) { return Reply::Of(ServerObject(call.services, call.now)); }

Reply SetDraining(Call& call) {
  Fields fields = Fields::OfObject(call.body);
  const auto draining = fields.Truth("draining");
  if (fields.ok() && !draining) fields.Fail("draining", "is needed");
  if (!fields.Finish()) return fields.problem();
  const std::string& user = call.caller.user;
  call.services.broker.SetDraining(*draining, user.empty() ? "the API" : user);
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
  const bool force = fields.Truth("force").value_or(false);
  if (!fields.Finish()) return fields.problem();
  const ReplicaStats* const replica = call.engine().journal().Replica();
  if (replica == nullptr) {
    return Problem{"not-found", "no other broker shares the journal of this one"};
  }
  if (!force && !replica->caught_up) {
    return Problem{"no-standby",
                   "nobody would take over at once: start a standby, or ask with \"force\":true"};
  }
  call.services.broker.StepDown();
  return Reply::Of({{"stepping_down", true}}, 202);
}

Reply GetAudit(Call& call) {
  Fields fields = Fields::OfQuery(call.request.query);
  const auto limit = fields.IntegerOr("limit", 1, kMaxPage, kUsualPage);
  std::string query = QueryOf(call.request);
  const auto cursor = CursorOf(fields, query, 1);
  if (!fields.Finish()) return fields.problem();
  return Reply(std::make_unique<AuditPage>(call.services.audit, limit, std::move(query),
                                           cursor ? cursor->numbers[0] : UINT64_MAX));
}

}  // namespace gearstalk::api
