#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

#include "admin/api/id_set.h"
#include "admin/api/objects.h"
#include "admin/api/page.h"
#include "admin/api/routes.h"
#include "admin/metrics/attention.h"

namespace gearstalk::api {
namespace {

constexpr std::size_t kTubeSlice = 128;  // tubes looked at in a slice
constexpr std::size_t kTubesTold = 4;    // tubes written to the page in a slice
// The tubes shown so far, in a cursor, which has to fit into the head of a request.
constexpr std::size_t kLongestPage = 4500;  // bytes

// What tubes are sorted by, as a number.
using KeyOf = std::uint64_t (*)(const Engine&, const Tube&);

struct Order {
  std::string_view name;
  KeyOf key;
  bool rises;  // the usual direction
};

template <auto kNumber>
std::uint64_t Of(const Engine& /*engine*/, const Tube& tube) {
  return std::invoke(kNumber, tube);
}

std::uint64_t Jobs(const Engine& /*engine*/, const Tube& tube) {
  return tube.unfinished() + tube.buried();
}

std::uint64_t Waiting(const Engine& engine, const Tube& tube) { return engine.Waiting(tube); }

std::uint64_t OldestFirst(const Engine& /*engine*/, const Tube& tube) {
  const Job* const oldest = tube.OldestReady();
  return oldest == nullptr ? 0 : UINT64_MAX - static_cast<std::uint64_t>(oldest->created);
}

constexpr Order kOrders[] = {
    {"id", nullptr, true},
    {"name", nullptr, true},
    {"busy", Jobs, false},
    {"ready", Of<&Tube::ready>, false},
    {"reserved", Of<&Tube::reserved>, false},
    {"delayed", Of<&Tube::delayed>, false},
    {"buried", Of<&Tube::buried>, false},
    {"workers", Of<&Tube::workers>, false},
    {"waiting", Waiting, false},
    {"oldest", OldestFirst, false},
};

struct TubeQuery {
  std::string match;
  std::string only;
  std::shared_ptr<const Concerns> concerns;
  std::optional<Concern> concern{};
  const Order* order = &kOrders[0];
  bool rises = true;
  IdSet shown{};  // on earlier pages; where they are sorted by what changes

  bool ByWhatChanges() const { return order->key != nullptr; }
  bool ByName() const { return order == &kOrders[1]; }
};

// The concerns that lists can be narrowed to.
std::optional<Concern> ConcernNamed(std::string_view word) {
  for (std::size_t i = 0; i < kTubeConcerns; ++i) {
    if (kConcernNames[i] == word && word != "buried" && word != "paused")
      return static_cast<Concern>(i);
  }
  return std::nullopt;
}

bool Passes(const Tube& tube, const TubeQuery& query, const Grant& grant) {
  const std::size_t jobs = tube.unfinished() + tube.buried();
  if (query.only == "jobs" && jobs == 0) return false;
  if (query.only == "idle" && jobs > 0) return false;
  if (query.only == "buried" && tube.buried() == 0) return false;
  if (query.only == "paused" && !tube.paused()) return false;
  if (query.concern && !query.concerns->Has(*query.concern, tube.id())) return false;
  return grant.Sees(tube.name()) &&
         (query.match.empty() || MatchesPattern(query.match, tube.name()));
}

// Walks all tubes and keeps the first ones behind the cursor, as many as fit on the page. A sort by
// a number that changes has no fixed position to continue from. So the cursor names the tubes that
// were shown, and the next page has the first of the others: each tube comes once, however its
// number changes. When the shown tubes are too many to name, the rest comes in the order of ids.
class TubeList {
 public:
  TubeList(const Services& services, TubeQuery query, Grant grant, Page page)
      : services_(services),
        query_(std::move(query)),
        grant_(std::move(grant)),
        page_(std::move(page)) {
    rest_ = query_.ByWhatChanges() && page_.after && page_.after->numbers[0] != 0;
    // A walk in the order of ids begins behind the cursor.
    if (ById() && page_.after) cursor_ = page_.after->numbers[1];
  }

  // Looks at some tubes. False: the first ones are found.
  bool Walk() {
    const auto before = [this](const Place& a, const Place& b) { return Before(a, b); };
    for (std::size_t i = 0; i < kTubeSlice; ++i) {
      const Tube* const tube = engine().NextTube(cursor_);
      if (tube == nullptr) {
        std::sort_heap(places_.begin(), places_.end(), before);
        return false;
      }
      cursor_ = tube->id();
      ++page_.scanned;
      if (!Passes(*tube, query_, grant_)) continue;
      Place place{KeyOfTube(*tube), ByName() ? tube->name() : "", tube->id()};
      if (!BehindCursor(place)) continue;
      places_.push_back(std::move(place));
      std::push_heap(places_.begin(), places_.end(), before);
      if (places_.size() <= page_.limit) continue;
      // The front of the heap is the last of the tubes kept.
      std::pop_heap(places_.begin(), places_.end(), before);
      places_.pop_back();
      more_ = true;
      if (!ById()) continue;
      std::sort_heap(places_.begin(), places_.end(), before);
      return false;
    }
    return true;
  }

  // False: the tubes shown do not fit into a cursor, so the page is made anew by ids.
  bool MakeNext() {
    if (!more_ || places_.empty()) return true;
    const Place& last = places_.back();
    if (!query_.ByWhatChanges()) {
      page_.GoOn({{last.key, last.id}, last.name});
      return true;
    }
    IdSet shown = query_.shown;
    if (rest_) {
      shown.DropUpTo(last.id);
    } else {
      std::vector<std::uint64_t> ids;
      for (const Place& place : places_) ids.push_back(place.id);
      shown.Add(ids);
    }
    const std::string text = shown.Encode();
    if (!rest_ && text.size() > kLongestPage) {
      rest_ = true;
      more_ = false;
      cursor_ = 0;
      places_.clear();
      return false;
    }
    page_.GoOn({{rest_ ? 1U : 0U, rest_ ? last.id : 0}, text});
    return true;
  }

  // Writes some tubes to the page, but for those that are gone. False: all are written.
  bool Render() {
    const std::size_t end = std::min(rendered_ + kTubesTold, places_.size());
    for (; rendered_ < end; ++rendered_) {
      const std::uint64_t id = places_[rendered_].id;
      const Tube* const tube = TubeOfId(engine(), id);
      if (tube == nullptr) continue;
      page_.Add(TubeObject(engine(), tube->name(), tube, services_.Now()));
    }
    return rendered_ < places_.size();
  }

  Reply Finish() const { return page_.Finish({{"total", engine().Stats().tubes}}); }

 private:
  struct Place {
    std::uint64_t key;
    std::string name;
    std::uint64_t id;
  };

  bool ById() const { return rest_ || (query_.order == &kOrders[0] && query_.rises); }
  bool ByName() const { return query_.ByName(); }

  // Ids break ties, and always rise.
  bool Before(const Place& a, const Place& b) const {
    if (rest_) return a.id < b.id;
    if (ByName() && a.name != b.name) return (a.name < b.name) == query_.rises;
    if (a.key != b.key) return (a.key < b.key) == query_.rises;
    return a.id < b.id;
  }

  bool BehindCursor(const Place& place) const {
    if (query_.ByWhatChanges()) return !query_.shown.Has(place.id);
    if (!page_.after) return true;
    const Place last{page_.after->numbers[0], page_.after->text, page_.after->numbers[1]};
    return Before(last, place);
  }

  std::uint64_t KeyOfTube(const Tube& tube) const {
    if (ByName()) return 0;
    return query_.order->key == nullptr ? tube.id() : query_.order->key(engine(), tube);
  }

  const Engine& engine() const { return services_.engine; }

  const Services& services_;
  const TubeQuery query_;
  const Grant grant_;
  Page page_;
  std::uint64_t cursor_ = 0;
  std::vector<Place> places_;
  std::size_t rendered_ = 0;
  bool rest_ = false;  // by ids
  bool more_ = false;
};

Task TubePage(const Services& services, TubeQuery query, Grant grant, Page page) {
  TubeList list(services, std::move(query), std::move(grant), std::move(page));
  do {
    while (list.Walk()) co_await NextSlice();
    co_await NextSlice();
  } while (!list.MakeNext());
  while (list.Render()) co_await NextSlice();
  co_return list.Finish();
}

}  // namespace

Reply ListTubes(Call& call) {
  Fields fields = Fields::OfQuery(call.request.query);
  TubeQuery query;
  query.match = fields.Text("match").value_or("");
  query.only = fields.Word("only", {"jobs", "idle", "buried", "paused", "unserved", "falls_behind",
                                    "silent_workers", "held_back"});
  query.concerns = call.services.attention.concerns();
  query.concern = ConcernNamed(query.only);
  const std::string sort =
      fields.Word("sort", {"id", "name", "busy", "ready", "reserved", "delayed", "buried",
                           "workers", "waiting", "oldest"});
  for (const Order& order : kOrders) {
    if (order.name == sort) query.order = &order;
  }
  const std::string order = fields.Word("order", {"asc", "desc"});
  query.rises = order.empty() ? query.order->rises : order == "asc";
  // Names outlive a restart, ids do not: tubes behind the cursor may have lower ids then.
  Page page = Page::Of(fields, call.request, 2, query.ByName() ? "" : call.services.run);
  if (page.after && query.ByWhatChanges()) {
    if (auto shown = IdSet::Decode(page.after->text)) {
      query.shown = std::move(*shown);
    } else {
      fields.Fail("cursor", "belongs to another query");
    }
  }
  if (!fields.Finish()) return fields.problem();
  return TubePage(call.services, std::move(query), call.caller.grant, std::move(page));
}

}  // namespace gearstalk::api
