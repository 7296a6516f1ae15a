#include <utility>
#include <vector>

#include "admin/api/answers.h"
#include "admin/api/failure_groups.h"
#include "admin/api/job_walk.h"
#include "admin/api/objects.h"
#include "admin/api/page.h"
#include "admin/api/routes.h"
#include "broker/policy/duration.h"

namespace gearstalk::api {
namespace {

struct FailureQuery {
  Filter filter;
  Grant grant;
  std::optional<double> window_s{};
  bool preview = false;
  Page page{};  // its cursor: time and id of the last failure told, and how many match
};

// The newest failures of all tubes, behind the cursor. The first page looks at all that the window
// has, for the groups; the others end when they are full.
Task ListFailed(const Services& services, FailureQuery query) {
  using Place = Failures::Place;
  Engine& engine = services.engine;
  Page& page = query.page;
  const auto& after = page.after;
  FailureGroups groups(engine, query.window_s, services.Now());
  FailureWalk walk(
      engine, query.filter, query.grant,
      after ? Place{static_cast<Time>(after->numbers[0]), after->numbers[1]} : Failures::kEnd,
      query.window_s);
  BodyQuery brought(engine.bodies());
  std::uint64_t matched = 0;
  std::vector<Place> places;  // on this page
  bool more = false;
  for (; !walk.ended(); co_await NextSlice()) {
    walk.Slice(services.Now(), [&](const Job& job) {
      ++matched;
      if (places.size() < page.limit) {
        places.push_back(Failures::PlaceOf(job));
      } else {
        more = true;
      }
      if (after) return !more;
      groups.Add(job);
      return true;
    });
    if (walk.Late(services.Now())) co_return NoDisk();
  }
  while (groups.Rank()) co_await NextSlice();
  while (groups.Tell()) co_await NextSlice();
  // Leaves out jobs that are no failures any more.
  for (std::size_t at = 0; at < places.size(); ++at) {
    if (at > 0 && at % JobWalk::kRendered == 0) co_await NextSlice();
    const Job* job = engine.Find(places[at].id);
    while (query.preview && job != nullptr && !brought.Knows(services.Now(), *job)) {
      if (brought.Late(services.Now())) co_return NoDisk();
      co_await NextSlice();
      job = engine.Find(places[at].id);
    }
    if (job == nullptr || !Failed(*job)) continue;
    page.Add(JobObject(engine, *job, services.Now(), query.preview));
  }
  if (after) matched = after->numbers[2];
  page.scanned = walk.scanned();
  if (more) {
    const Place& last = places.back();
    page.GoOn({{static_cast<std::uint64_t>(last.ended), last.id, matched}, ""});
  }
  co_return page.Finish({{"matched", matched},
                         {"groups", groups.TakeObjects()},
                         {"groups_total", groups.total()},
                         {"step_seconds", groups.step_seconds()}});
}

}  // namespace

Reply ListFailures(Call& call) {
  FailureQuery query{.filter = Filter::Read(call.fields), .grant = call.caller.grant};
  std::optional<double> window = call.fields.Seconds("failed_within_seconds");
  if (const auto since = call.fields.Text("since")) {
    const std::optional<Time> span = ParseDuration(*since);
    if (!span || *span == 0)
      call.fields.Fail("since", "expected a duration such as 90s, 15m, 1h or 7d");
    if (window) call.fields.Fail("since", "cannot be given beside failed_within_seconds");
    window = span ? std::optional(Seconds(*span)) : std::nullopt;
  }
  query.filter.set_failed(window);
  query.window_s = window;
  query.preview = call.fields.IntegerOr("preview", 0, 1, 0) == 1 && call.caller.grant.bodies;
  query.page = Page::Of(call, 3);
  if (!call.fields.Finish()) return call.fields.problem();
  if (auto problem = CheckBodies(call, query.filter)) return std::move(*problem);
  return ListFailed(call.services, std::move(query));
}

}  // namespace gearstalk::api
