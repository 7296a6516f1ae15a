#include "admin/api/answers.h"
#include "admin/api/json.h"
#include "admin/api/objects.h"
#include "admin/api/page.h"
#include "admin/api/routes.h"

namespace gearstalk::api {
namespace {

bool Sees(const Grant& grant, const RunningSchedule& schedule) {
  return schedule.configured && grant.Sees(schedule.entry.tube);
}

// The one that the path names.
const RunningSchedule* ScheduleOf(Call& call) {
  const std::string name = NameOfRef(call.arguments[0]).value_or("");
  const RunningSchedule* const schedule = call.engine().schedules().Find(name);
  if (schedule == nullptr || !Sees(call.caller.grant, *schedule)) return nullptr;
  call.act.tube = schedule->entry.tube;
  call.act.filter = Dump({{"schedule", TextOf(name)}});
  return schedule;
}

// By name.
Task SchedulePage(const Schedules& schedules, Grant grant, Page page) {
  constexpr std::uint64_t kLookedAt = 8;  // in a slice
  std::string last = page.after ? page.after->text : "";
  for (;;) {
    const auto at = schedules.all().upper_bound(last);
    if (at == schedules.all().end()) break;
    if (page.full()) {
      page.GoOn({{}, last});
      break;
    }
    last = at->first;
    if (Sees(grant, *at->second)) page.Add(ScheduleObject(*at->second));
    if (++page.scanned % kLookedAt == 0) co_await NextSlice();
  }
  co_return page.Finish();
}

Reply Ran(const Services& services, const RunningSchedule& schedule, const Outcome& outcome) {
  if (outcome.code == Code::kInUse) {
    return Problem{"in-use", "the job of the last run is not finished, and runs may not overlap"};
  }
  if (!outcome.ok()) return RefusalOf(outcome.code, schedule.entry.tube);
  Reply reply = PutReply(services, schedule.last_job, outcome.lsn);
  reply.made = schedule.last_job;
  return reply;
}

// Its job waits to be compared with one whose body is read.
Task RunWhenCompared(const Services& services, std::string name) {
  const Time asked = services.Now();
  Schedules& schedules = services.engine.schedules();
  while (services.Now() - asked <= kBodyPatience) {
    co_await NextSlice();
    const RunningSchedule* const schedule = schedules.Find(name);
    if (schedule == nullptr) co_return NoSuch("schedule");
    if (Waits(schedule->compared)) continue;
    const Outcome outcome = schedules.Run(services.Now(), name);
    if (outcome.code == Code::kNotFound) co_return NoSuch("schedule");
    if (!Waits(schedule->compared)) co_return Ran(services, *schedule, outcome);
  }
  co_return NoDisk();
}

}  // namespace

Reply ListSchedules(Call& call) {
  Page page = Page::Of(call, 0);
  if (!call.fields.Finish()) return call.fields.problem();
  return SchedulePage(call.engine().schedules(), call.caller.grant, std::move(page));
}

Reply RunSchedule(Call& call) {
  if (!call.fields.Finish()) return call.fields.problem();
  const RunningSchedule* const schedule = ScheduleOf(call);
  if (schedule == nullptr) return NoSuch("schedule");
  const Outcome outcome = call.engine().schedules().Run(call.now, schedule->entry.name);
  if (Waits(schedule->compared)) return RunWhenCompared(call.services, schedule->entry.name);
  return Ran(call.services, *schedule, outcome);
}

Reply EnableSchedule(Call& call) {
  const auto enabled = call.fields.Needed("enabled", call.fields.Truth("enabled"));
  if (!call.fields.Finish()) return call.fields.problem();
  const RunningSchedule* const schedule = ScheduleOf(call);
  if (schedule == nullptr) return NoSuch("schedule");
  const Outcome outcome =
      call.engine().schedules().Switch(call.now, schedule->entry.name, *enabled);
  if (!outcome.ok()) return RefusalOf(outcome.code, schedule->entry.name);
  return Reply::Of(ScheduleObject(*schedule)).Durable(outcome.lsn);
}

}  // namespace gearstalk::api
