#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "admin/api/handlers.h"
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
  std::uint64_t limit = kUsualPage;
  std::uint64_t max_scan = kUsualScan;
  std::string query{};  // that cursors belong to
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

Reply FinishPage(const Engine& engine, const JobQuery& query, const Page& page, JobId as_of) {
  return page.Finish(
      {{"matched", page.size}, {"as_of_id", as_of}, {"count", CountOf(engine, query)}});
}

// By id.
class JobList final : public Task {
 public:
  JobList(const Engine& engine, JobQuery query, JobWalk::Place place)
      : engine_(engine),
        query_(std::move(query)),
        walk_(engine, query_.filter, query_.grant, place) {}

  std::optional<Reply> Advance(Time now) override {
    std::uint64_t told = 0;
    walk_.Slice(now, query_.max_scan - walk_.scanned(), [&](const Job& job) {
      page_.Add(JobObject(engine_, job, now, query_.preview));
      return page_.size < query_.limit && ++told < JobWalk::kRendered;
    });
    const bool spent = walk_.scanned() >= query_.max_scan || walk_.body_bytes() >= kPageBodies;
    if (!walk_.ended() && page_.size < query_.limit && !spent) return std::nullopt;
    const JobWalk::Place& place = walk_.place();
    page_.scanned = walk_.scanned();
    if (!walk_.ended()) {
      page_.complete = page_.size >= query_.limit;
      page_.next =
          Cursor{{place.after, place.as_of, place.left, place.moves}, ""}.Encode(query_.query);
    }
    return FinishPage(engine_, query_, page_, place.as_of);
  }

 private:
  const Engine& engine_;
  const JobQuery query_;
  JobWalk walk_;
  Page page_;
};

// Reserved jobs, of a tube or all, by the end of their TTR: found by walking all jobs.
class ReservedList final : public Task {
 public:
  ReservedList(const Engine& engine, JobQuery query)
      : engine_(engine),
        query_(std::move(query)),
        walk_(engine, query_.filter, query_.grant, JobWalk::Begin(engine, query_.filter)) {}

  std::optional<Reply> Advance(Time now) override {
    if (page_) return Tell(now);
    walk_.Slice(now, UINT64_MAX, [&](const Job& job) {
      const Time left = engine_.TimeLeft(now, job);
      first_.emplace_back(left == 0 ? kNever : now + left, job.id());
      std::push_heap(first_.begin(), first_.end());
      if (first_.size() > query_.limit) {
        std::pop_heap(first_.begin(), first_.end());
        first_.pop_back();
      }
      return true;
    });
    const bool spent = walk_.scanned() >= query_.max_scan || walk_.body_bytes() >= kPageBodies;
    if (!walk_.ended() && !spent) return std::nullopt;
    page_.emplace();
    page_->scanned = walk_.scanned();
    page_->complete = walk_.ended();
    std::sort_heap(first_.begin(), first_.end());
    return std::nullopt;
  }

 private:
  std::optional<Reply> Tell(Time now) {
    for (std::uint64_t told = 0; at_ < first_.size(); ++at_) {
      if (told++ == JobWalk::kRendered) return std::nullopt;
      const Job* const job = engine_.Find(first_[at_].second);
      if (job == nullptr || job->state() != JobState::kReserved) continue;
      page_->Add(JobObject(engine_, *job, now, query_.preview));
    }
    return FinishPage(engine_, query_, *page_, walk_.place().as_of);
  }

  const Engine& engine_;
  const JobQuery query_;
  JobWalk walk_;
  std::vector<std::pair<Time, JobId>> first_;  // a heap, the last of them in front; sorted to tell
  std::optional<Page> page_;                   // when all are found
  std::size_t at_ = 0;                         // that is told next
};

// The matching ones of the first jobs, in the order in which they leave; in slices if bodies must
// be read.
class NextList final : public Task {
 public:
  NextList(const Engine& engine, JobQuery query, JobState state, Time now)
      : engine_(engine), query_(std::move(query)), state_(state) {
    const Tube* const tube = engine.FindTube(*query_.filter.tube());
    if (tube == nullptr) return;
    const std::size_t bound = query_.filter.IsPlain() ? query_.limit : kNextLookedAt;
    std::size_t seen = 0;
    engine.VisitNext(*tube, state, bound, [&](const Job& job) {
      ++seen;
      if (query_.filter.MatchesRecord(job, now)) first_.push_back(job.id());
    });
    page_.scanned = seen;
    page_.complete = query_.filter.IsPlain() || seen < kNextLookedAt;
  }

  std::optional<Reply> Advance(Time now) override {
    std::uint64_t budget = JobWalk::kBodyBytes;
    for (std::uint64_t shown = 0; at_ < first_.size() && page_.size < query_.limit; ++at_) {
      const Job* const job = engine_.Find(first_[at_]);
      if (job == nullptr || job->state() != state_) continue;
      if (query_.filter.ReadsBody()) {
        const BodyMatch::Found found = body_.Advance(*job, budget);
        if (found == BodyMatch::Found::kNotYet) return std::nullopt;
        if (found == BodyMatch::Found::kNo) continue;
      }
      page_.Add(JobObject(engine_, *job, now, query_.preview));
      if (++shown == JobWalk::kRendered) {
        ++at_;
        return std::nullopt;
      }
    }
    page_.complete = page_.complete || page_.size == query_.limit;
    return FinishPage(engine_, query_, page_, engine_.next_id() - 1);
  }

 private:
  const Engine& engine_;
  const JobQuery query_;
  const JobState state_;
  BodyMatch body_{query_.filter};
  std::vector<JobId> first_;
  std::size_t at_ = 0;
  Page page_;
};

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
  query.limit = fields.IntegerOr("limit", 1, next ? kMaxNext : kMaxPage, kUsualPage);
  query.query = QueryOf(call.request, fmt::format("{}", query.preview));
  const auto cursor = CursorOf(fields, query.query, 4);
  const auto state = query.filter.OnlyState();
  if (next && cursor) fields.Fail("cursor", "order=next has no cursor");
  if (next && !query.filter.tube() && state != JobState::kReserved) {
    fields.Fail("tube", "order=next needs a tube, but of reserved jobs");
  }
  if (next && !state) fields.Fail("state", "order=next needs one state");
  if (!fields.Finish()) return fields.problem();
  if (query.filter.ReadsBody() && !call.caller.grant.bodies) {
    return Problem{"bodies-forbidden", "the right +bodies is needed to search in bodies"};
  }
  const bool hidden = query.filter.tube() && !call.caller.grant.Sees(*query.filter.tube());
  if (next && !hidden && *state != JobState::kReserved) {
    return Reply(std::make_unique<NextList>(call.engine(), std::move(query), *state, call.now));
  }
  if (next) return Reply(std::make_unique<ReservedList>(call.engine(), std::move(query)));
  JobWalk::Place place = JobWalk::Begin(call.engine(), query.filter);
  if (cursor) {
    place = {cursor->numbers[0], cursor->numbers[1], cursor->numbers[2], cursor->numbers[3]};
  }
  return Reply(std::make_unique<JobList>(call.engine(), std::move(query), place));
}

}  // namespace

Reply ListJobs(Call& call) { return ListJobsIn(call, std::nullopt); }

Reply ListJobsOfTube(Call& call) {
  const Tube* const tube = TubeOf(call);
  if (tube == nullptr) return NoTube();
  return ListJobsIn(call, tube->name());
}

}  // namespace gearstalk::api
