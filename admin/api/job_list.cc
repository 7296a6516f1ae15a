#include <algorithm>
#include <utility>
#include <vector>

#include "admin/api/answers.h"
#include "admin/api/job_walk.h"
#include "admin/api/objects.h"
#include "admin/api/page.h"
#include "admin/api/routes.h"

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

// Finds the reserved jobs whose time ends first, `most` of those that the query selects by their
// records; `all`: it selects all. Looks at the first jobs of each holder; the page is not complete
// if some had more.
Slices FindHeld(const Services& services, JobQuery& query, bool all, std::size_t most,
                std::vector<JobId>& found) {
  constexpr std::size_t kHeldLookedAt = 10'000;  // jobs of a holder
  std::vector<std::pair<Time, JobId>> first;     // a heap, the last of them in front
  Time now = services.Now();
  const auto keep = [&](const Job& job) {
    const bool seen = query.grant.Sees(job.tube().name());
    if (!seen || !query.filter.MatchesRecord(job, now)) return;
    const Time left = services.engine.TimeLeft(now, job);
    first.emplace_back(left == 0 ? kNever : now + left, job.id());
    std::push_heap(first.begin(), first.end());
    if (first.size() <= most) return;
    std::pop_heap(first.begin(), first.end());
    first.pop_back();
  };
  std::size_t looked = 0;  // in this slice
  for (int fd = 0;;) {
    const ConnectionList::Entry entry = services.connections.Next(fd);
    if (entry.peer == nullptr) break;
    fd = entry.peer->fd + 1;
    const auto* const holder = dynamic_cast<const Consumer*>(entry.session);
    const std::size_t held = holder == nullptr ? 0 : holder->held();
    const std::size_t bound = std::min(all ? most : kHeldLookedAt, held);
    query.page.complete = query.page.complete && (all || bound == held);
    query.page.scanned += bound;
    if (holder != nullptr) holder->VisitHeld(bound, keep);
    looked += bound + 1;
    if (looked < JobWalk::kSteps) continue;
    co_await NextSlice();
    now = services.Now();
    looked = 0;
  }
  std::sort_heap(first.begin(), first.end());
  for (const auto& [end, id] : first) found.push_back(id);
}

// The matching ones of the first jobs, in the order in which they leave; reserved ones of a tube or
// all, by the end of their TTR. In slices if holders must be asked or bodies read.
Task ListNext(const Services& services, JobQuery query, JobState state) {
  Engine& engine = services.engine;
  Page& page = query.page;
  const bool plain = query.filter.IsPlain();
  const std::size_t most = plain ? page.limit : kNextLookedAt;
  std::vector<JobId> first;
  if (state == JobState::kReserved) {
    const bool all = plain && !query.filter.tube() && query.grant.SeesAll();
    Slices walk = FindHeld(services, query, all, most, first);
    while (walk.Advance()) co_await NextSlice();
    page.complete = page.complete && (plain || first.size() < most);
  } else if (const Tube* const tube = engine.FindTube(*query.filter.tube());
             tube != nullptr && query.grant.Sees(tube->name())) {
    tube->VisitNext(state, most, [&](const Job& job) {
      ++page.scanned;
      if (query.filter.MatchesRecord(job, services.Now())) first.push_back(job.id());
    });
    page.complete = plain || page.scanned < most;
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
  for (const char* const name : {"tube", "tube_base64"}) {
    if (tube && call.fields.Has(name)) call.fields.Fail(name, "the path names it");
  }
  JobQuery query{.filter = Filter::Read(call.fields), .grant = call.caller.grant};
  if (tube) query.filter.set_tube(*tube);
  const bool next = call.fields.Word("order", {"id", "next"}) == "next";
  query.preview = call.fields.IntegerOr("preview", 0, 1, 0) == 1 && call.caller.grant.bodies;
  query.max_scan = call.fields.IntegerOr("max_scan", 1, kMaxScan, kUsualScan);
  query.page = Page::Of(call, 4, query.preview ? "true" : "false", next ? kMaxNext : kMaxPage);
  const std::optional<Cursor> cursor = query.page.after;
  const auto state = query.filter.OnlyState();
  if (next && cursor) call.fields.Fail("cursor", "order=next has no cursor");
  if (next && !query.filter.tube() && state != JobState::kReserved) {
    call.fields.Fail("tube", "order=next needs a tube, but of reserved jobs");
  }
  if (next && !state) call.fields.Fail("state", "order=next needs one state");
  if (next && state == JobState::kReady && TakesTurns(call.engine(), query.filter.tube())) {
    call.fields.Fail("order",
                     "groups of the tube take turns: only group_order age has an order of jobs");
  }
  if (!call.fields.Finish()) return call.fields.problem();
  if (auto problem = CheckBodies(call, query.filter)) return std::move(*problem);
  if (next) return ListNext(call.services, std::move(query), *state);
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
  if (tube == nullptr) return NoSuch("tube");
  return ListJobsIn(call, tube->name());
}

}  // namespace gearstalk::api
