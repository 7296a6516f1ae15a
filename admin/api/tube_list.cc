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

struct TubePlace {
  std::uint64_t key;
  std::string name;
  std::uint64_t id;
};

TubePlace PlaceOf(const Engine& engine, const Tube& tube, const TubeQuery& query) {
  if (query.ByName()) return {0, tube.name(), tube.id()};
  const KeyOf key = query.order->key;
  return {key == nullptr ? tube.id() : key(engine, tube), "", tube.id()};
}

// Which tube comes before another one.
struct Ranking {
  const TubeQuery& query;
  bool rest;  // by ids, whatever the query says

  bool ById() const { return rest || (query.order == &kOrders[0] && query.rises); }
  // Ids break ties, and always rise.
  bool operator()(const TubePlace& a, const TubePlace& b) const {
    if (rest) return a.id < b.id;
    if (query.ByName() && a.name != b.name) return (a.name < b.name) == query.rises;
    if (a.key != b.key) return (a.key < b.key) == query.rises;
    return a.id < b.id;
  }
};

bool BehindCursor(const TubePlace& place, const Ranking& before, const Page& page) {
  if (before.query.ByWhatChanges()) return !before.query.shown.Has(place.id);
  if (!page.after) return true;
  return before({page.after->numbers[0], page.after->text, page.after->numbers[1]}, place);
}

// False: the tubes shown do not fit into a cursor.
bool MakeNext(const std::vector<TubePlace>& places, const Ranking& before, Page& page) {
  const TubePlace& last = places.back();
  if (!before.query.ByWhatChanges()) {
    page.GoOn({{last.key, last.id}, last.name});
    return true;
  }
  IdSet shown = before.query.shown;
  if (before.rest) {
    shown.DropUpTo(last.id);
  } else {
    std::vector<std::uint64_t> ids;
    ids.reserve(places.size());
    for (const TubePlace& place : places) ids.push_back(place.id);
    shown.Add(ids);
  }
  const std::string text = shown.Encode();
  if (!before.rest && text.size() > kLongestPage) return false;
  page.GoOn({{before.rest ? 1U : 0U, before.rest ? last.id : 0}, text});
  return true;
}

// Walks all tubes and keeps the first ones behind the cursor, as many as fit on the page. A sort by
// a number that changes has no fixed position to continue from. So the cursor names the tubes that
// were shown, and the next page has the first of the others: each tube comes once, however its
// number changes. When the shown tubes are too many to name, the rest comes in the order of ids.
Task TubePage(const Services& services, TubeQuery query, Grant grant, Page page) {
  const Engine& engine = services.engine;
  Ranking before{query, query.ByWhatChanges() && page.after && page.after->numbers[0] != 0};
  // A walk in the order of ids begins behind the cursor.
  std::uint64_t cursor = before.ById() && page.after ? page.after->numbers[1] : 0;
  std::vector<TubePlace> places;
  for (bool more = false;;) {
    for (std::size_t looked = 1;; ++looked) {
      if (looked % kTubeSlice == 0) co_await NextSlice();
      const Tube* const tube = engine.NextTube(cursor);
      if (tube == nullptr || (more && before.ById())) break;
      cursor = tube->id();
      ++page.scanned;
      if (!Passes(*tube, query, grant)) continue;
      TubePlace place = PlaceOf(engine, *tube, query);
      if (!BehindCursor(place, before, page)) continue;
      places.push_back(std::move(place));
      std::push_heap(places.begin(), places.end(), before);
      if (places.size() <= page.limit) continue;
      // The front of the heap is the last of the tubes kept.
      std::pop_heap(places.begin(), places.end(), before);
      places.pop_back();
      more = true;
    }
    std::sort_heap(places.begin(), places.end(), before);
    co_await NextSlice();
    if (!more || MakeNext(places, before, page)) break;
    before.rest = true;
    more = false;
    cursor = 0;
    places.clear();
  }
  // Leaves out those that are gone.
  for (std::size_t told = 0; told < places.size(); ++told) {
    if (told > 0 && told % kTubesTold == 0) co_await NextSlice();
    const Tube* const tube = TubeOfId(engine, places[told].id);
    if (tube != nullptr) page.Add(TubeObject(engine, tube->name(), tube, services.Now()));
  }
  co_return page.Finish({{"total", engine.Stats().tubes}});
}

}  // namespace

Reply ListTubes(Call& call) {
  TubeQuery query;
  query.match = call.fields.Text("match").value_or("");
  query.only = call.fields.Word("only", {"jobs", "idle", "buried", "paused", "unserved",
                                         "falls_behind", "silent_workers", "held_back"});
  query.concerns = call.services.attention.concerns();
  query.concern = ConcernNamed(query.only);
  const std::string sort =
      call.fields.Word("sort", {"id", "name", "busy", "ready", "reserved", "delayed", "buried",
                                "workers", "waiting", "oldest"});
  for (const Order& order : kOrders) {
    if (order.name == sort) query.order = &order;
  }
  const std::string order = call.fields.Word("order", {"asc", "desc"});
  query.rises = order.empty() ? query.order->rises : order == "asc";
  // Names outlive a restart, ids do not: tubes behind the cursor may have lower ids then.
  Page page = Page::Of(call, 2, query.ByName() ? "" : call.services.run);
  if (page.after && query.ByWhatChanges()) {
    if (auto shown = IdSet::Decode(page.after->text)) {
      query.shown = std::move(*shown);
    } else {
      call.fields.Fail("cursor", "belongs to another query");
    }
  }
  if (!call.fields.Finish()) return call.fields.problem();
  return TubePage(call.services, std::move(query), call.caller.grant, std::move(page));
}

}  // namespace gearstalk::api
