#include <algorithm>
#include <array>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "admin/api/failure_walk.h"
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
  std::optional<double> window_s{};
  bool preview = false;
  std::uint64_t limit = kUsualPage;
  std::optional<Cursor> after{};  // time and id of the last failure told, and how many match
  std::string query{};            // that cursors belong to
};

// Of the tube that the jobs are in, where they came from if they are dead, and their cause.
using GroupKey = std::tuple<std::uint64_t, Cause, std::string>;

// Failures of a tube with one cause.
struct Group {
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

using Groups = std::map<GroupKey, Group>;

// Whether it comes before the other: the largest first, of equal ones that of the last failure.
bool ComesFirst(const Groups::node_type& a, const Groups::node_type& b) {
  const Group &one = a.mapped(), &other = b.mapped();
  return std::tie(one.count, one.last, b.key()) > std::tie(other.count, other.last, a.key());
}

Json TimeOrNull(Time time) { return time == 0 || time == kNever ? Json() : Json(Timestamp(time)); }

Json ObjectOf(const Tube& tube, const Groups::node_type& node) {
  const auto& [id, which, origin] = node.key();
  const Group& group = node.mapped();
  const std::string_view cause = gearstalk::NameOf(which);
  return {{"tube", TextOf(tube.name())},
          {"tube_ref", RefOf(tube.name())},
          {"origin", origin.empty() ? Json() : Json(TextOf(origin))},
          {"cause", cause.empty() ? Json() : Json(cause)},
          {"count", group.count},
          {"buried", group.buried},
          {"first_failed_at", TimeOrNull(group.first)},
          {"last_failed_at", TimeOrNull(group.last)},
          {"per_step", group.per_step}};
}

// The newest failures of all tubes, behind the cursor. The first page looks at all that the window
// has, for the groups; the others end when they are full.
class FailureList final : public Task {
 public:
  FailureList(const Engine& engine, FailureQuery query, Time now)
      : engine_(engine),
        query_(std::move(query)),
        step_(std::max<Time>(static_cast<Time>(query_.window_s.value_or(kUsualWindow) *
                                               static_cast<double>(kSecond)) /
                                 Time{kSteps},
                             1)),
        begin_(now - step_ * Time{kSteps}),
        walk_(engine, query_.filter, query_.grant, Begin(query_), query_.window_s) {}

  // Each of the parts is cut into slices.
  std::optional<Reply> Advance(Time now) override {
    if (!walk_.ended()) {
      walk_.Slice(now, [this](const Job& job) { return Consider(job); });
    } else if (!groups_.empty()) {
      Rank();
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
    const auto [at, fresh] =
        groups_.try_emplace({job.tube().id(), job.extra().cause, std::string(job.origin())});
    groups_total_ += fresh ? 1 : 0;
    at->second.Add(job, begin_, step_);
    return true;
  }

  // Keeps the largest groups, and drops the others one by one.
  void Rank() {
    for (std::uint64_t steps = JobWalk::kSteps; steps > 0 && !groups_.empty(); --steps) {
      shown_.push_back(groups_.extract(groups_.begin()));
      std::push_heap(shown_.begin(), shown_.end(), ComesFirst);
      if (shown_.size() <= kMostGroups) continue;
      // The front of the heap comes last of those kept.
      std::pop_heap(shown_.begin(), shown_.end(), ComesFirst);
      shown_.pop_back();
    }
    if (groups_.empty()) std::sort_heap(shown_.begin(), shown_.end(), ComesFirst);
  }

  // Leaves out jobs that are no failures any more.
  std::optional<Reply> Render(Time now) {
    std::uint64_t told = 0;
    for (; grouped_ < shown_.size(); ++grouped_) {
      if (told++ == JobWalk::kRendered) return std::nullopt;
      const std::uint64_t id = std::get<0>(shown_[grouped_].key());
      const Tube* const tube = engine_.NextTube(id - 1);
      if (tube == nullptr || tube->id() != id) continue;
      group_objects_.push_back(ObjectOf(*tube, shown_[grouped_]));
    }
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
                         {"groups", std::move(group_objects_)},
                         {"groups_total", groups_total_},
                         {"step_seconds", Seconds(step_)}});
  }

  const Engine& engine_;
  const FailureQuery query_;
  const Time step_, begin_;
  FailureWalk walk_;
  std::uint64_t matched_ = 0;
  std::vector<Place> places_;  // on this page
  bool more_ = false;
  Groups groups_;  // that are not ranked yet
  std::size_t groups_total_ = 0;
  std::vector<Groups::node_type> shown_;  // a heap, the last of them in front; sorted to tell
  std::size_t grouped_ = 0, at_ = 0;      // that are told next
  Json group_objects_ = Json::array();
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
