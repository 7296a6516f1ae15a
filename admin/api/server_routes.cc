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
      : entries_(audit.entries()), query_(std::move(query)), before_(before) {
    page_.limit = limit;
  }

  std::optional<Reply> Advance(Time) override {
    for (std::uint64_t told = 0; told < kTold; ++told) {
      // Their ids have no gaps.
      const std::uint64_t first = entries_.empty() ? before_ : entries_.front().id;
      if (before_ <= first) return page_.Finish();
      const std::size_t behind = std::min<std::uint64_t>(before_ - first, entries_.size());
      const Audit::Entry& entry = entries_[behind - 1];
      before_ = entry.id;
      ++page_.scanned;
      page_.Add(ObjectOf(entry));
      if (page_.size < page_.limit) continue;
      if (entry.id > first) page_.next = Cursor{{entry.id}, ""}.Encode(query_);
      return page_.Finish();
    }
    return std::nullopt;
  }

 private:
  static constexpr std::uint64_t kTold = 4;  // in a slice

  const std::deque<Audit::Entry>& entries_;
  const std::string query_;
  std::uint64_t before_;  // ids to come are lower
  Page page_;
};

}  // namespace

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
  const auto limit = fields.IntegerOr("limit", 1, kMaxPage, kUsualPage);
  std::string query = QueryOf(call.request);
  const auto cursor = CursorOf(fields, query, 1);
  if (!fields.Finish()) return fields.problem();
  return Reply(std::make_unique<AuditPage>(call.services.audit, limit, std::move(query),
                                           cursor ? cursor->numbers[0] : UINT64_MAX));
}

}  // namespace gearstalk::api
