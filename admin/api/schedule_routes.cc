#include "admin/api/fields.h"
#include "admin/api/handlers.h"
#include "admin/api/lookup.h"
#include "admin/api/names.h"
#include "admin/api/page.h"

namespace gearstalk::api {
namespace {

Json MomentOf(Time time) { return time <= 0 || time == kNever ? Json() : Json(Timestamp(time)); }

Json ScheduleObject(const RunningSchedule& schedule) {
  return {{"name", TextOf(schedule.entry.name)},
          {"tube", TextOf(schedule.entry.tube)},
          {"next_at", schedule.off ? Json() : MomentOf(schedule.next)},
          {"last_at", MomentOf(schedule.ran)},
          {"runs", schedule.runs},
          {"skipped", schedule.skipped},
          {"missed", schedule.missed},
          {"enabled", !schedule.off}};
}

bool Sees(const Call& call, const RunningSchedule& schedule) {
  return schedule.configured && call.caller.grant.Sees(schedule.entry.tube);
}

// The one that the path names.
const RunningSchedule* ScheduleOf(Call& call) {
  const std::string name = NameOfRef(call.arguments[0]).value_or("");
  const RunningSchedule* const schedule = call.engine().schedules().Find(name);
  if (schedule == nullptr || !Sees(call, *schedule)) return nullptr;
  call.act.tube = schedule->entry.tube;
  call.act.filter = Dump({{"schedule", TextOf(name)}});
  return schedule;
}

Problem NoSchedule() { return {"not-found", "there is no such schedule"}; }

}  // namespace

// There are 1,000 at most.
Reply ListSchedules(Call& call) {
  Fields fields = Fields::OfQuery(call.request.query);
  Page page;
  page.limit = fields.IntegerOr("limit", 1, kMaxPage, kUsualPage);
  const std::string query = QueryOf(call.request);
  const auto cursor = CursorOf(fields, query, 0);
  if (!fields.Finish()) return fields.problem();
  const Schedules::Map& all = call.engine().schedules().all();
  std::string last;
  for (auto at = cursor ? all.upper_bound(cursor->text) : all.begin(); at != all.end(); ++at) {
    if (page.size == page.limit) {
      page.next = Cursor{{}, last}.Encode(query);
      break;
    }
    ++page.scanned;
    last = at->first;
    if (Sees(call, *at->second)) page.Add(ScheduleObject(*at->second));
  }
  return page.Finish();
}

Reply RunSchedule(Call& call) {
  Fields fields = Fields::OfObject(call.body);
  if (!fields.Finish()) return fields.problem();
  const RunningSchedule* const schedule = ScheduleOf(call);
  if (schedule == nullptr) return NoSchedule();
  const Outcome outcome = call.engine().RunSchedule(call.now, schedule->entry.name);
  if (outcome.code == Code::kInUse) {
    return Problem{"in-use", "the job of the last run is not finished, and runs may not overlap"};
  }
  if (!outcome.ok()) return RefusalOf(outcome.code, schedule->entry.tube);
  call.act.job = schedule->last_job;
  Reply reply = JobReply(call, schedule->last_job, outcome.lsn);
  if (!reply.problem) reply.status = 201;
  return std::move(reply).With("Location", "/api/v1/jobs/" + std::to_string(schedule->last_job));
}

Reply EnableSchedule(Call& call) {
  Fields fields = Fields::OfObject(call.body);
  const auto enabled = fields.Truth("enabled");
  if (fields.ok() && !enabled) fields.Fail("enabled", "is needed");
  if (!fields.Finish()) return fields.problem();
  const RunningSchedule* const schedule = ScheduleOf(call);
  if (schedule == nullptr) return NoSchedule();
  const Outcome outcome = call.engine().SwitchSchedule(call.now, schedule->entry.name, *enabled);
  if (!outcome.ok()) return RefusalOf(outcome.code, schedule->entry.name);
  return Reply::Of(ScheduleObject(*schedule)).Durable(outcome.lsn);
}

}  // namespace gearstalk::api
