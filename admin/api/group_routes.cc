#include <algorithm>
#include <optional>
#include <utility>

#include "admin/api/answers.h"
#include "admin/api/json.h"
#include "admin/api/objects.h"
#include "admin/api/page.h"
#include "admin/api/routes.h"
#include "broker/engine/group_list.h"

namespace gearstalk::api {
namespace {

using Sort = GroupList::Sort;

struct GroupOrder {
  std::string_view name;
  Sort sort;
  std::uint64_t (*number)(const GroupRow& row);  // what a row is sorted by, as a cursor holds it
};
constexpr GroupOrder kGroupOrders[] = {
    {"name", Sort::kName, [](const GroupRow&) { return std::uint64_t{0}; }},
    {"ready", Sort::kReady, [](const GroupRow& row) { return row.ready; }},
    {"reserved", Sort::kReserved, [](const GroupRow& row) { return row.reserved; }},
    {"delayed", Sort::kDelayed, [](const GroupRow& row) { return row.delayed; }},
    {"handed_out", Sort::kHandedOut, [](const GroupRow& row) { return row.handed_out; }},
    {"oldest", Sort::kOldest,
     [](const GroupRow& row) { return static_cast<std::uint64_t>(row.oldest); }},
};

// Only its name and what it is sorted by.
GroupRow RowAt(const Cursor& cursor) {
  const std::uint64_t number = cursor.numbers[0];
  return {.name = cursor.text,
          .ready = number,
          .reserved = number,
          .delayed = number,
          .handed_out = number,
          .oldest = static_cast<Time>(std::min<std::uint64_t>(number, kNever))};
}

Task GroupPage(const Services& services, std::uint64_t tube_id, const GroupOrder& order,
               bool descending, Page page) {
  std::optional<GroupRow> after;
  if (page.after) after = RowAt(*page.after);
  GroupList list(order.sort, descending, page.limit, std::move(after));
  for (;;) {
    const Tube* const tube = TubeOfId(services.engine, tube_id);
    if (tube == nullptr || tube->groups() == nullptr || list.Look(*tube->groups())) break;
    co_await NextSlice();
  }
  page.scanned = list.total();
  const std::vector<GroupRow> rows = list.Take();
  for (const GroupRow& row : rows) page.Add(GroupObject(row, services.Now()));
  if (page.full()) page.GoOn({{order.number(rows.back())}, rows.back().name});
  co_return page.Finish({{"total", list.total()}});
}

}  // namespace

Reply ListGroups(Call& call) {
  const Tube* const tube = TubeOf(call);
  if (tube == nullptr) return NoSuch("tube");
  const std::string word =
      call.fields.Word("sort", {"name", "ready", "reserved", "delayed", "handed_out", "oldest"});
  const std::string direction = call.fields.Word("order", {"asc", "desc"});
  Page page = Page::Of(call, 1);
  if (!call.fields.Finish()) return call.fields.problem();
  const auto* const order =
      std::ranges::find(kGroupOrders, word.empty() ? "ready" : word, &GroupOrder::name);
  const bool descending = direction.empty() ? order->sort != Sort::kName : direction == "desc";
  return GroupPage(call.services, tube->id(), *order, descending, std::move(page));
}

}  // namespace gearstalk::api
