#include <algorithm>
#include <utility>
#include <vector>

#include "admin/api/handlers.h"
#include "admin/api/job_body.h"
#include "admin/api/job_walk.h"
#include "admin/api/lookup.h"
#include "admin/api/objects.h"
#include "admin/api/page.h"

namespace gearstalk::api {
namespace {

constexpr std::uint64_t kUsualScan = 100'000;
constexpr std::uint64_t kPageBodies = 64 << 20;  // bytes of bodies read for one page
constexpr std::size_t kMaxNext = 100;            // of a page by order=next
constexpr std::size_t kNextLookedAt = 1000;      // jobs, for it

struct JobQuery {
  Filter filter;
  Grant grant;
  bool preview = false;
  std::uint64_t max_scan = kUsualScan;
  Page page{};
};

std::uint64_t CountOf(std::size_t ready, std::size_t reserved, std::size_t delayed,
                      std::size_t buried, const Filter& filter) {
  return (filter.Wants(JobState::kReady) ? ready : 0) +
         (filter.Wants(JobState::kReserved) ? reserved : 0) +
         (filter.Wants(JobState::kDelayed) ? delayed : 0) +
         (filter.Wants(JobState::kBuried) ? buried : 0);
}

// Exact if the query names nothing but a tube and states.
Json CountOf(const Engine& engine, const JobQuery& query) {
  const Filter& filter = query.filter;
  if (!filter.IsPlain()) return {};
  if (filter.tube()) {
    const Tube* const tube = engine.FindTube(*filter.tube());
    if (tube == nullptr || !query.grant.Sees(tube->name())) return 0;
    return CountOf(tube->ready(), tube->reserved(), tube->delayed(), tube->buried(), filter);
  }
  if (!query.grant.SeesAll()) return {};
  const EngineStats stats = engine.Stats();
  return CountOf(stats.ready, stats.reserved, stats.delayed, stats.buried, filter);
}

Reply FinishPage(const Engine& engine, const JobQuery& query, JobId as_of) {
  return query.page.Finish(
      {{"matched", query.page.size}, {"as_of_id", as_of}, {"count", CountOf(engine, query)}});
}

// Whether the page has looked at enough.
bool Spent(const JobWalk& walk, const JobQuery& query) {
  return walk.scanned() >= query.max_scan || walk.body_bytes() >= kPageBodies;
}

// By id.
Task ListById(const Services& services, JobQuery query, JobWalk::Place begin) {
  Engine& engine = services.engine;
  Page& page = query.page;
  JobWalk walk(engine, query.filter, query.grant, begin, query.preview);
  for (;; co_await NextSlice()) {
    std::uint64_t told = 0;
    walk.Slice(services.Now(), query.max_scan - walk.scanned(), [&](const Job& job) {
      page.Add(JobObject(engine, job, services.Now(), query.preview));
      return !page.full() && ++told < JobWalk::kRendered;
    });
    if (walk.Late(services.Now())) co_return NoDisk();
    if (walk.ended() || page.full() || Spent(walk, query)) break;
  }
  const JobWalk::Place& place = walk.place();
  page.scanned = walk.scanned();
  if (!walk.ended()) {
    page.complete = page.full();
    page.GoOn({{place.after, place.as_of, place.left, place.moves}, ""});
  }
  co_return FinishPage(engine, query, place.as_of);
}

// Reserved jobs, of a tube or all, by the end of their TTR: found by walking all jobs.
Task ListReserved(const Services& services, JobQuery query) {
  Engine& engine = services.engine;
  Page& page = query.page;
  BodyQuery brought(engine.bodies());
  JobWalk walk(engine, query.filter, query.grant, JobWalk::Begin(engine, query.filter), false);
  std::vector<std::pair<Time, JobId>> first;  // a heap, the last of them in front; sorted to tell
  do {
    const Time now = services.Now();
    walk.Slice(now, UINT64_MAX, [&](const Job& job) {
      const Time left = engine.TimeLeft(now, job);
      first.emplace_back(left == 0 ? kNever : now + left, job.id());
      std::push_heap(first.begin(), first.end());
      if (first.size() > page.limit) {
        std::pop_heap(first.begin(), first.end());
        first.pop_back();
      }
      return true;
    });
    if (walk.Late(now)) co_return NoDisk();
    co_await NextSlice();
  } while (!walk.ended() && !Spent(walk, query));
  page.scanned = walk.scanned();
  page.complete = walk.ended();
  std::sort_heap(first.begin(), first.end());
  for (std::size_t at = 0; at < first.size(); ++at) {
    if (at > 0 && at % JobWalk::kRendered == 0) co_await NextSlice();
    const Job* job = engine.Find(first[at].second);
    while (query.preview && job != nullptr && !brought.Knows(services.Now(), *job)) {
      if (brought.Late(services.Now())) co_return NoDisk();
      co_await NextSlice();
      job = engine.Find(first[at].second);
    }
    if (job == nullptr || job->state() != JobState::kReserved) continue;
    page.Add(JobObject(engine, *job, services.Now(), query.preview));
  }
  co_return FinishPage(engine, query, walk.place().as_of);
}

// The matching ones of the first jobs, in the order in which they leave; in slices if bodies must
// be read.
Task ListNext(const Services& services, JobQuery query, JobState state) {
  Engine& engine = services.engine;
  Page& page = query.page;
  std::vector<JobId> first;
  if (const Tube* const tube = engine.FindTube(*query.filter.tube())) {
    const bool plain = query.filter.IsPlain();
    engine.VisitNext(*tube, state, plain ? page.limit : kNextLookedAt, [&](const Job& job) {
      ++page.scanned;
      if (query.filter.MatchesRecord(job, services.Now())) first.push_back(job.id());
    });
    page.complete = plain || page.scanned < kNextLookedAt;
  }
  BodyMatch body(query.filter);
  BodyQuery brought(engine.bodies());
  const bool bodies = query.preview || query.filter.ReadsBody();
  std::uint64_t budget = JobWalk::kBodyBytes, shown = 0;
  for (std::size_t at = 0; at < first.size() && !page.full();) {
    const Job* const job = engine.Find(first[at]);
    auto found = BodyMatch::Found::kNo;
    if (job != nullptr && job->state() == state) {
      const bool known = !bodies || brought.Knows(services.Now(), *job);
      found = known ? body.Advance(*job, budget) : BodyMatch::Found::kNotYet;
    }
    const bool known = found != BodyMatch::Found::kNotYet;
    if (known) ++at;
    if (found == BodyMatch::Found::kYes) {
      page.Add(JobObject(engine, *job, services.Now(), query.preview));
      ++shown;
    }
    if (known && shown < JobWalk::kRendered) continue;
    if (brought.Late(services.Now())) co_return NoDisk();
    co_await NextSlice();
    budget = JobWalk::kBodyBytes;
    shown = 0;
  }
  page.complete = page.complete || page.full();
  co_return FinishPage(engine, query, engine.next_id() - 1);
}

// Whether whose job is next depends on what happens until then.
bool TakesTurns(const Engine& engine, const std::optional<std::string>& name) {
  const Tube* const tube = name ? engine.FindTube(*name) : nullptr;
  return tube != nullptr && tube->groups() != nullptr &&
         PolicyOf(*tube).group_order != Policy::GroupOrder::kAge;
}

Reply ListJobsIn(Call& call, std::optional<std::string> tube) {
  Fields fields = Fields::OfQuery(call.request.query);
  for (const char* const name : {"tube", "tube_base64"}) {
    if (tube && fields.Has(name)) fields.Fail(name, "the path names it");
  }
  JobQuery query{.filter = Filter::Read(fields), .grant = call.caller.grant};
  if (tube) query.filter.set_tube(*tube);
  const bool next = fields.Word("order", {"id", "next"}) == "next";
  query.preview = fields.IntegerOr("preview", 0, 1, 0) == 1 && call.caller.grant.bodies;
  query.max_scan = fields.IntegerOr("max_scan", 1, kMaxScan, kUsualScan);
  query.page = Page::Of(fields, call.request, 4, query.preview ? "true" : "false",
                        next ? kMaxNext : kMaxPage);
  const std::optional<Cursor> cursor = query.page.after;
  const auto state = query.filter.OnlyState();
  if (next && cursor) fields.Fail("cursor", "order=next has no cursor");
  if (next && !query.filter.tube() && state != JobState::kReserved) {
    fields.Fail("tube", "order=next needs a tube, but of reserved jobs");
  }
  if (next && !state) fields.Fail("state", "order=next needs one state");
  if (next && state == JobState::kReady && TakesTurns(call.engine(), query.filter.tube())) {
    fields.Fail("order",
                "groups of the tube take turns: only group_order age has an order of jobs");
  }
  if (!fields.Finish()) return fields.problem();
  if (query.filter.ReadsBody() && !call.caller.grant.bodies) {
    return Problem{"bodies-forbidden", "the right +bodies is needed to search in bodies"};
  }
  const bool hidden = query.filter.tube() && !call.caller.grant.Sees(*query.filter.tube());
  if (next && !hidden && *state != JobState::kReserved) {
    return ListNext(call.services, std::move(query), *state);
  }
  if (next) return ListReserved(call.services, std::move(query));
  JobWalk::Place place = JobWalk::Begin(call.engine(), query.filter);
  if (cursor) {
    place = {cursor->numbers[0], cursor->numbers[1], cursor->numbers[2], cursor->numbers[3]};
  }
  return ListById(call.services, std::move(query), place);
}

}  // namespace

Reply ListJobs(Call& call) { return ListJobsIn(call, std::nullopt); }

Reply ListJobsOfTube(Call& call) {
  const Tube* const tube = TubeOf(call);
  if (tube == nullptr) return NoTube();
  return ListJobsIn(call, tube->name());
}

}  // namespace gearstalk::api
