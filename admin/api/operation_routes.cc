#include <fmt/format.h>

#include <algorithm>

#include "admin/api/answers.h"
#include "admin/api/operations.h"
#include "admin/api/page.h"
#include "admin/api/routes.h"

namespace gearstalk::api {
namespace {

constexpr std::size_t kMaxFilter = 16 * 1024;  // bytes of JSON
constexpr Time kWaitsForCount = 2 * kSecond;

Operation* OperationOf(const Call& call) {
  Operation* const found = call.services.operations.Find(NumberOf(call.arguments[0]));
  return found != nullptr && found->SeenBy(call.caller) ? found : nullptr;
}

Reply OperationReply(const Operation& operation, int status = 200) {
  return Reply::Of(operation.Object(), status).Durable(operation.lsn());
}

// Answers when the count is complete, or when it takes too long.
Task AwaitCount(const Services& services, std::uint64_t id, std::string location) {
  const Time until = services.Now() + kWaitsForCount;
  for (;; co_await NextSlice()) {
    const Operation* const operation = services.operations.Find(id);
    if (operation == nullptr) co_return NoSuch("operation");
    if (operation->state() == Operation::State::kCounting && services.Now() < until) continue;
    co_return OperationReply(*operation, 201).With("Location", location);
  }
}

// Newest first.
Task OperationPage(const Operations& operations, Caller caller, Page page) {
  const auto& all = operations.all();
  std::uint64_t before = page.after ? page.after->numbers[0] : UINT64_MAX;  // later ones were told
  for (;; co_await NextSlice()) {
    const auto next = std::find_if(all.rbegin(), all.rend(),
                                   [&](const auto& each) { return each->id() < before; });
    if (next == all.rend()) break;
    before = (*next)->id();
    ++page.scanned;
    if ((*next)->SeenBy(caller)) page.Add((*next)->Object());
    if (!page.full()) continue;
    if (std::next(next) != all.rend()) page.GoOn({{before}, ""});
    break;
  }
  co_return page.Finish();
}

std::optional<Operation::Action> ActionNamed(std::string_view name) {
  using enum Operation::Action;
  for (const auto action : {kDelete, kKick, kBury, kRelease, kMove, kCopy}) {
    if (NameOf(action) == name) return action;
  }
  return std::nullopt;
}

// The filter in the request, or an empty object if `fields` has failed for the lack of one. The API
// limits its size, because it remembers and logs operations and sends them to event streams.
const Json& FilterOf(Fields& fields) {
  static const Json kNone = Json::object();
  const Json* const filter = fields.Raw("filter");
  if (filter == nullptr) {
    fields.Fail("filter", "is needed");
    return kNone;
  }
  if (!filter->is_object()) fields.Fail("filter", "expected an object");
  if (Dump(*filter).size() > kMaxFilter) fields.Fail("filter", "is too long");
  return *filter;
}

}  // namespace

Reply ListOperations(Call& call) {
  Page page = Page::Of(call, 1);
  if (!call.fields.Finish()) return call.fields.problem();
  return OperationPage(call.services.operations, call.caller, std::move(page));
}

Reply BeginOperation(Call& call) {
  const auto action = ActionNamed(
      call.fields.Word("action", {"delete", "kick", "bury", "release", "move", "copy"}));
  const auto to = call.fields.Bytes("to");
  if (!action) call.fields.Fail("action", "is needed");
  const Json& given = FilterOf(call.fields);
  if (action == Operation::Action::kMove && !to) call.fields.Fail("to", "is needed to move");
  const bool takes_to = action == Operation::Action::kMove || action == Operation::Action::kCopy;
  if (to && !takes_to) call.fields.Fail("to", "is for move and copy");
  if (!call.fields.Finish()) return call.fields.problem();
  Fields members = Fields::OfObject(given);
  Filter filter = Filter::Read(members);
  const bool everywhere = members.Truth("all_tubes").value_or(false);
  if (!filter.NamesTubes() && !everywhere) {
    members.Fail("tube", "tube, tube_match or \"all_tubes\":true is needed");
  }
  if (filter.NamesTubes() && everywhere) members.Fail("all_tubes", "cannot be given beside tubes");
  if (!members.Finish()) return members.problem();
  if (auto problem = CheckBodies(call, filter)) return std::move(*problem);
  if (to) {
    if (auto problem = CheckTubeName(call, *to, "to")) return std::move(*problem);
  }
  // A release is for reserved jobs only.
  if (action != Operation::Action::kRelease) filter.LeaveReserved();
  Operation* const operation = call.services.operations.Begin(
      {*action, std::move(filter), given, to.value_or(""), call.caller, call.request_id}, call.now);
  if (operation == nullptr) return Problem{"busy", "four operations are under way"};
  return AwaitCount(call.services, operation->id(),
                    LocationOf(call.services, fmt::format("/operations/{}", operation->id())));
}

Reply GetOperation(Call& call) {
  const Operation* const operation = OperationOf(call);
  if (operation == nullptr) return NoSuch("operation");
  return OperationReply(*operation);
}

Reply StopOperation(Call& call) {
  Operation* const operation = OperationOf(call);
  if (operation == nullptr) return NoSuch("operation");
  if (operation->ended()) {
    return Problem{.code = "operation-state",
                   .detail = "it has ended",
                   .more = {{"state", NameOf(operation->state())}}};
  }
  call.services.operations.Stop(*operation, call.now);
  return OperationReply(*operation);
}

Reply ConfirmOperation(Call& call) {
  const auto count = call.fields.Needed("count", call.fields.Integer("count", 0, UINT64_MAX));
  if (!call.fields.Finish()) return call.fields.problem();
  Operation* const operation = OperationOf(call);
  if (operation == nullptr) return NoSuch("operation");
  if (operation->state() == Operation::State::kExpired) {
    return Problem{"expired", "it was not confirmed within five minutes: begin a new one"};
  }
  if (operation->state() != Operation::State::kCounted) {
    return Problem{.code = "operation-state",
                   .detail = "only a counted operation can be confirmed",
                   .more = {{"state", NameOf(operation->state())}}};
  }
  if (*count != operation->count()) {
    return Problem{.code = "count-mismatch",
                   .detail = fmt::format("it counted {} jobs", operation->count()),
                   .field = "count",
                   .more = {{"count", operation->count()}}};
  }
  if (!call.services.operations.Confirm(*operation, call.caller, call.request_id, call.now)) {
    return Problem{"busy", "four operations are under way"};
  }
  return OperationReply(*operation, 202);
}

}  // namespace gearstalk::api
