#include <algorithm>
#include <optional>
#include <utility>

#include "admin/api/fields.h"
#include "admin/api/json.h"
#include "admin/api/lookup.h"
#include "admin/api/objects.h"
#include "admin/api/page.h"
#include "admin/api/routes.h"
#include "broker/engine/group_list.h"

namespace gearstalk::api {
namespace {

using Sort = GroupList::Sort;

constexpr std::pair<std::string_view, Sort> kSorts[] = {
    {"name", Sort::kName},       {"ready", Sort::kReady},          {"reserved", Sort::kReserved},
    {"delayed", Sort::kDelayed}, {"handed_out", Sort::kHandedOut}, {"oldest", Sort::kOldest}};

// What a row is sorted by, as a cursor holds it.
std::uint64_t NumberOf(const GroupRow& row, Sort sort) {
  switch (sort) {
    case Sort::kReady:
      return row.ready;
    case Sort::kReserved:
      return row.reserved;
    case Sort::kDelayed:
      return row.delayed;
    case Sort::kHandedOut:
      return row.handed_out;
    case Sort::kOldest:
      return static_cast<std::uint64_t>(row.oldest);
    case Sort::kName:
      break;
  }
  return 0;
}

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

Task GroupPage(const Services& services, std::uint64_t tube_id, Sort sort, bool descending,
               Page page) {
  std::optional<GroupRow> after;
  if (page.after) after = RowAt(*page.after);
  GroupList list(sort, descending, page.limit, std::move(after));
  for (;;) {
    const Tube* const tube = TubeOfId(services.engine, tube_id);
    if (tube == nullptr || tube->groups() == nullptr || list.Look(*tube->groups())) break;
    co_await NextSlice();
  }
  page.scanned = list.total();
  const std::vector<GroupRow> rows = list.Take();
  for (const GroupRow& row : rows) page.Add(GroupObject(row, services.Now()));
  if (page.full()) page.GoOn({{NumberOf(rows.back(), sort)}, rows.back().name});
  co_return page.Finish({{"total", list.total()}});
}

}  // namespace

Reply ListGroups(Call& call) {
  const Tube* const tube = TubeOf(call);
  if (tube == nullptr) return NoSuch("tube");
  Fields fields = Fields::OfQuery(call.request.query);
  const std::string word =
      fields.Word("sort", {"name", "ready", "reserved", "delayed", "handed_out", "oldest"});
  const std::string order = fields.Word("order", {"asc", "desc"});
  Page page = Page::Of(fields, call.request, 1);
  if (!fields.Finish()) return fields.problem();
  Sort sort = Sort::kReady;
  for (const auto& [name, value] : kSorts) {
    if (name == word) sort = value;
  }
  const bool descending = order.empty() ? sort != Sort::kName : order == "desc";
  return GroupPage(call.services, tube->id(), sort, descending, std::move(page));
}

}  // namespace gearstalk::api
