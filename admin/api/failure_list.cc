#include <algorithm>
#include <array>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "admin/api/handlers.h"
#include "admin/api/job_walk.h"
#include "admin/api/names.h"
#include "admin/api/objects.h"
#include "admin/api/page.h"
#include "broker/policy/duration.h"

namespace gearstalk::api {
namespace {

constexpr std::size_t kSteps = 24;          // of a group's line
constexpr double kUsualWindow = 24 * 3600;  // seconds that it covers
constexpr std::size_t kMostGroups = 100;

struct FailureQuery {
  Filter filter;
  Grant grant;
  double window_s = kUsualWindow;
  bool preview = false;
  std::uint64_t limit = kUsualPage;
  std::optional<Cursor> after{};
  std::string query{};  // that cursors belong to
};

// Failures of a tube with one cause.
struct Group {
  std::string tube, origin;
  Cause cause = Cause::kNone;
  std::uint64_t count = 0, buried = 0;
  Time first = kNever, last = 0;  // kNever and 0: no time is known
  std::array<std::uint32_t, kSteps> per_step{};

  void Add(const Job& job, Time begin, Time step) {
    ++count;
    if (job.state() == JobState::kBuried) ++buried;
    const Time at = job.extra().ended;
    if (at == 0) return;
    first = std::min(first, at);
    last = std::max(last, at);
    if (at < begin) return;
    ++per_step[std::min(static_cast<std::size_t>((at - begin) / step), kSteps - 1)];
  }
};

Json TimeOrNull(Time time) { return time == 0 || time == kNever ? Json() : Json(Timestamp(time)); }

Json ObjectOf(const Group& group) {
  const std::string_view cause = gearstalk::NameOf(group.cause);
  return {{"tube", TextOf(group.tube)},
          {"tube_ref", RefOf(group.tube)},
          {"origin", group.origin.empty() ? Json() : Json(TextOf(group.origin))},
          {"cause", cause.empty() ? Json() : Json(cause)},
          {"count", group.count},
          {"buried", group.buried},
          {"first_failed_at", TimeOrNull(group.first)},
          {"last_failed_at", TimeOrNull(group.last)},
          {"per_step", group.per_step}};
}

// The newest failures of all tubes, behind the cursor. They are found by walking all jobs in
// slices: the time of a failure is kept with the job and has no index.
class FailureList final : public Task {
 public:
  FailureList(const Engine& engine, FailureQuery query, Time now)
      : engine_(engine),
        query_(std::move(query)),
        step_(std::max<Time>(
            static_cast<Time>(query_.window_s * static_cast<double>(kSecond)) / Time{kSteps}, 1)),
        begin_(now - step_ * Time{kSteps}),
        walk_(engine, query_.filter, query_.grant, JobWalk::Begin(engine, query_.filter)) {}

  std::optional<Reply> Advance(Time now) override {
    if (!walk_.ended()) {
      walk_.Slice(now, UINT64_MAX, [this](const Job& job) {
        Consider(job);
        return true;
      });
      if (walk_.ended()) Sort();
      return std::nullopt;
    }
    return Render(now);
  }

 private:
  // Later comes first. A failure whose time is not known has 0.
  using Place = std::pair<Time, JobId>;
  static constexpr auto kNewest = std::greater<Place>();

  void Consider(const Job& job) {
    ++matched_;
    if (!query_.after) GroupOf(job).Add(job, begin_, step_);
    const Place place{job.extra().ended, job.id()};
    if (query_.after &&
        !kNewest(Place{query_.after->numbers[0], query_.after->numbers[1]}, place)) {
      return;
    }
    places_.push_back(place);
    std::push_heap(places_.begin(), places_.end(), kNewest);
    if (places_.size() <= query_.limit) return;
    // The front of the heap is the oldest of those kept.
    std::pop_heap(places_.begin(), places_.end(), kNewest);
    places_.pop_back();
    more_ = true;
  }

  // Of the tube that the job is in, where it came from if it is dead, and its cause.
  Group& GroupOf(const Job& job) {
    const auto [at, fresh] =
        groups_.try_emplace({job.tube().id(), job.extra().cause, std::string(job.origin())});
    Group& group = at->second;
    if (fresh) {
      group.tube = job.tube().name();
      group.origin = job.origin();
      group.cause = job.extra().cause;
    }
    return group;
  }

  void Sort() {
    std::sort_heap(places_.begin(), places_.end(), kNewest);
    groups_total_ = groups_.size();
    for (auto& [key, group] : groups_) sorted_.push_back(&group);
    const std::size_t shown = std::min(sorted_.size(), kMostGroups);
    std::partial_sort(sorted_.begin(), sorted_.begin() + static_cast<std::ptrdiff_t>(shown),
                      sorted_.end(),
                      [](const Group* a, const Group* b) { return a->count > b->count; });
    sorted_.resize(shown);
  }

  // Leaves out jobs that are no failures any more.
  std::optional<Reply> Render(Time now) {
    std::uint64_t told = 0;
    for (; grouped_ < sorted_.size(); ++grouped_) {
      if (told++ == JobWalk::kRendered) return std::nullopt;
      group_objects_.push_back(ObjectOf(*sorted_[grouped_]));
    }
    for (; at_ < places_.size(); ++at_) {
      if (told++ >= JobWalk::kRendered) return std::nullopt;
      const Job* const job = engine_.Find(places_[at_].second);
      if (job != nullptr && Failed(*job)) page_.Add(JobObject(engine_, *job, now, query_.preview));
    }
    page_.scanned = walk_.scanned();
    if (more_) {
      const auto& [time, id] = places_.back();
      page_.next = Cursor{{static_cast<std::uint64_t>(time), id}, ""}.Encode(query_.query);
    }
    return page_.Finish({{"matched", matched_},
                         {"groups", std::move(group_objects_)},
                         {"groups_total", groups_total_},
                         {"step_seconds", Seconds(step_)}});
  }

  const Engine& engine_;
  const FailureQuery query_;
  const Time step_, begin_;
  JobWalk walk_;
  std::uint64_t matched_ = 0;
  std::map<std::tuple<std::uint64_t, Cause, std::string>, Group> groups_;
  std::size_t groups_total_ = 0;
  std::vector<const Group*> sorted_;
  std::size_t grouped_ = 0;
  Json group_objects_ = Json::array();
  std::vector<Place> places_;  // a heap, the oldest in front; sorted to tell
  bool more_ = false;
  std::size_t at_ = 0;
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
  query.window_s = window.value_or(kUsualWindow);
  query.preview = fields.IntegerOr("preview", 0, 1, 0) == 1 && call.caller.grant.bodies;
  query.limit = fields.IntegerOr("limit", 1, kMaxPage, kUsualPage);
  query.query = QueryOf(call.request);
  query.after = CursorOf(fields, query.query, 2);
  if (!fields.Finish()) return fields.problem();
  if (query.filter.ReadsBody() && !call.caller.grant.bodies) {
    return Problem{"bodies-forbidden", "the right +bodies is needed to search in bodies"};
  }
  return Reply(std::make_unique<FailureList>(call.engine(), std::move(query), call.now));
}

}  // namespace gearstalk::api
