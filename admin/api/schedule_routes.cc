#include "admin/api/fields.h"
#include "admin/api/handlers.h"
#include "admin/api/lookup.h"
#include "admin/api/names.h"
#include "admin/api/page.h"

namespace gearstalk::api {
namespace {

Json MomentOf(Time time) { return time <= 0 || time == kNever ? Json() : Json(Timestamp(time)); }

Json ScheduleObject(const RunningSchedule& schedule) {
  return {
      {"name", TextOf(schedule.entry.name)},
      {"tube", TextOf(schedule.entry.tube)},
      {"cron", schedule.entry.cron.empty() ? Json() : Json(TextOf(schedule.entry.cron))},
      {"every_seconds", schedule.entry.cron.empty() ? Json(Seconds(schedule.entry.every)) : Json()},
      {"time_zone", schedule.plan.zone().name()},
      {"next_at", schedule.off ? Json() : MomentOf(schedule.next)},
      {"last_at", MomentOf(schedule.ran)},
      {"runs", schedule.runs},
      {"skipped", schedule.skipped},
      {"missed", schedule.missed},
      {"enabled", !schedule.off}};
}

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
class SchedulePage final : public Task {
 public:
  SchedulePage(const Schedules& schedules, Grant grant, std::uint64_t limit, std::string query,
               std::string after)
      : all_(schedules.all()),
        grant_(std::move(grant)),
        query_(std::move(query)),
        after_(std::move(after)) {
    page_.limit = limit;
  }

  std::optional<Reply> Advance(Time) override {
    auto at = all_.upper_bound(after_);
    for (int looked = 0; looked < kLookedAt; ++looked, ++at) {
      if (at == all_.end()) return page_.Finish();
      if (page_.size == page_.limit) {
        page_.next = Cursor{{}, after_}.Encode(query_);
        return page_.Finish();
      }
      ++page_.scanned;
      after_ = at->first;
      if (Sees(grant_, *at->second)) page_.Add(ScheduleObject(*at->second));
    }
    return std::nullopt;
  }

 private:
  static constexpr int kLookedAt = 8;  // in a slice

  const Schedules::Map& all_;
  const Grant grant_;
  const std::string query_;
  std::string after_;
  Page page_;
};

Problem NoSchedule() { return {"not-found", "there is no such schedule"}; }

}  // namespace

Reply ListSchedules(Call& call) {
  Fields fields = Fields::OfQuery(call.request.query);
  const auto limit = fields.IntegerOr("limit", 1, kMaxPage, kUsualPage);
  std::string query = QueryOf(call.request);
  const auto cursor = CursorOf(fields, query, 0);
  if (!fields.Finish()) return fields.problem();
  return Reply(std::make_unique<SchedulePage>(call.engine().schedules(), call.caller.grant, limit,
                                              std::move(query), cursor ? cursor->text : ""));
}

Reply RunSchedule(Call& call) {
  Fields fields = Fields::OfObject(call.body);
  if (!fields.Finish()) return fields.problem();
  const RunningSchedule* const schedule = ScheduleOf(call);
  if (schedule == nullptr) return NoSchedule();
  const Outcome outcome = call.engine().schedules().Run(call.now, schedule->entry.name);
  if (outcome.code == Code::kInUse) {
    return Problem{"in-use", "the job of the last run is not finished, and runs may not overlap"};
  }
  if (!outcome.ok()) return RefusalOf(outcome.code, schedule->entry.tube);
  call.act.job = schedule->last_job;
  Reply reply = JobReply(call, schedule->last_job, outcome.lsn);
  if (!reply.problem) reply.status = 201;
  return std::move(reply).With("Location",
                               LocationOf(call, "/jobs/" + std::to_string(schedule->last_job)));
}

Reply EnableSchedule(Call& call) {
  Fields fields = Fields::OfObject(call.body);
  const auto enabled = fields.Truth("enabled");
  if (fields.ok() && !enabled) fields.Fail("enabled", "is needed");
  if (!fields.Finish()) return fields.problem();
  const RunningSchedule* const schedule = ScheduleOf(call);
  if (schedule == nullptr) return NoSchedule();
  const Outcome outcome =
      call.engine().schedules().Switch(call.now, schedule->entry.name, *enabled);
  if (!outcome.ok()) return RefusalOf(outcome.code, schedule->entry.name);
  return Reply::Of(ScheduleObject(*schedule)).Durable(outcome.lsn);
}

}  // namespace gearstalk::api
