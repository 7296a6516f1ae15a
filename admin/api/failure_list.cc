#include <algorithm>
#include <utility>
#include <vector>

#include "admin/api/failure_groups.h"
#include "admin/api/failure_walk.h"
#include "admin/api/handlers.h"
#include "admin/api/job_walk.h"
#include "admin/api/names.h"
#include "admin/api/objects.h"
#include "admin/api/page.h"
#include "broker/policy/duration.h"

namespace gearstalk::api {
namespace {

struct FailureQuery {
  Filter filter;
  Grant grant;
  std::optional<double> window_s{};
  bool preview = false;
  std::uint64_t limit = kUsualPage;
  std::optional<Cursor> after{};  // time and id of the last failure told, and how many match
  std::string query{};            // that cursors belong to
};

// The newest failures of all tubes, behind the cursor. The first page looks at all that the window
// has, for the groups; the others end when they are full.
class FailureList final : public Task {
 public:
  FailureList(const Engine& engine, FailureQuery query, Time now)
      : engine_(engine),
        query_(std::move(query)),
        groups_(engine, query_.window_s, now),
        walk_(engine, query_.filter, query_.grant, Begin(query_), query_.window_s) {}

  // Each of the parts is cut into slices.
  std::optional<Reply> Advance(Time now) override {
    if (!walk_.ended()) {
      walk_.Slice(now, [this](const Job& job) { return Consider(job); });
    } else if (groups_.Rank()) {
      return std::nullopt;
    } else {
      return Render(now);
    }
    return std::nullopt;
  }

 private:
  using Place = Failures::Place;

  static Place Begin(const FailureQuery& query) {
    if (!query.after) return Failures::kEnd;
    return {static_cast<Time>(query.after->numbers[0]), query.after->numbers[1]};
  }

  // Whether the walk goes on.
  bool Consider(const Job& job) {
    ++matched_;
    if (places_.size() < query_.limit) {
      places_.push_back(Failures::PlaceOf(job));
    } else {
      more_ = true;
    }
    if (query_.after) return !more_;
    groups_.Add(job);
    return true;
  }

  // Leaves out jobs that are no failures any more.
  std::optional<Reply> Render(Time now) {
    if (groups_.Tell()) return std::nullopt;
    std::uint64_t told = 0;
    for (; at_ < places_.size(); ++at_) {
      if (told++ >= JobWalk::kRendered) return std::nullopt;
      const Job* const job = engine_.Find(places_[at_].id);
      if (job != nullptr && Failed(*job)) page_.Add(JobObject(engine_, *job, now, query_.preview));
    }
    const std::uint64_t matched = query_.after ? query_.after->numbers[2] : matched_;
    page_.scanned = walk_.scanned();
    if (more_) {
      const Place& last = places_.back();
      page_.next = Cursor{{static_cast<std::uint64_t>(last.ended), last.id, matched}, ""}.Encode(
          query_.query);
    }
    return page_.Finish({{"matched", matched},
                         {"groups", groups_.TakeObjects()},
                         {"groups_total", groups_.total()},
                         {"step_seconds", groups_.step_seconds()}});
  }

  const Engine& engine_;
  const FailureQuery query_;
  FailureGroups groups_;
  FailureWalk walk_;
  std::uint64_t matched_ = 0;
  std::vector<Place> places_;  // on this page
  bool more_ = false;
  std::size_t at_ = 0;  // in them, that is told next
  Page page_;
};

}  // namespace

Reply ListFailures(Call& call) {
  Fields fields = Fields::OfQuery(call.request.query);
  FailureQuery query{.filter = Filter::Read(fields), .grant = call.caller.grant};
  std::optional<double> window = fields.Seconds("failed_within_seconds");
  if (const auto since = fields.Text("since")) {
    const std::optional<Time> span = ParseDuration(*since);
    if (!span) fields.Fail("since", "expected a duration such as 90s, 15m, 1h or 7d");
    if (window) fields.Fail("since", "cannot be given beside failed_within_seconds");
    window = span ? std::optional(Seconds(*span)) : std::nullopt;
  }
  query.filter.set_failed(window);
  query.window_s = window;
  query.preview = fields.IntegerOr("preview", 0, 1, 0) == 1 && call.caller.grant.bodies;
  query.limit = fields.IntegerOr("limit", 1, kMaxPage, kUsualPage);
  query.query = QueryOf(call.request);
  query.after = CursorOf(fields, query.query, 3);
  if (!fields.Finish()) return fields.problem();
  if (query.filter.ReadsBody() && !call.caller.grant.bodies) {
    return Problem{"bodies-forbidden", "the right +bodies is needed to search in bodies"};
  }
  return Reply(std::make_unique<FailureList>(call.engine(), std::move(query), call.now));
}

}  // namespace gearstalk::api
