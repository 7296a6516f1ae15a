#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <memory>
#include <utility>

#include "admin/move/leftovers.h"
#include "admin/move/takeover/quiet_jobs.h"
#include "broker/base/clock.h"
#include "broker/base/status.h"

namespace gearstalk::ctl {
namespace {

using transfer::Type;

constexpr std::string_view kProcess = "pid ";

// Moves the jobs of a beanstalkd that runs.
class BeanstalkTakeOver final : public OldServer {
 public:
  using OldServer::OldServer;

  Status Begin() override {
    std::unique_ptr<Channel> channel = GS_TRY(Connect(options_.Old()));
    old_ = std::make_unique<BeanstalkClient>(std::move(channel));
    // This process was connected before: that connection ended together with the old server's
    // process.
    was_connected_ = report_.mark_before.has_value();
    GS_TRY(ReadInstance());
    GS_TRY(OpenTransfer());
    scope_ = std::make_unique<MoveScope>(
        MoveScope{options_, report_, *old_, *broker_, before_.keep_ids, deletes_delayed_, 0});
    quiet_ = std::make_unique<QuietJobs>(*scope_);
    GS_TRY(SettleAll());
    if (options_.stopped()) return {};
    broker_->Add(Type::kAdvance, transfer::Mark{.state = instance_});
    before_.state = instance_;
    return StatusOf(broker_->Sync());
  }

  Status Round(bool& moved) override {
    moved = false;
    GS_TRY(ListTubes());
    GS_TRY(WatchTubes());
    GS_TRY(MoveReady(moved));
    GS_TRY(quiet_->under_way() ? quiet_->Continue(moved) : BeginQuiet(moved));
    return scope_->missed == 0 || quiet_->under_way() ? Status() : SettleAll();
  }

  Result<bool> Finish() override {
    GS_TRY(quiet_->Finish());
    if (scope_->missed > 0) GS_TRY(SettleAll());
    return true;
  }

  Result<std::uint64_t> CountLeft(bool in_report) override {
    std::uint64_t waiting = 0;
    GS_TRY(ListTubes());
    const std::vector<Yaml> stats = GS_TRY(ReadStats());
    for (std::size_t i = 0; i < tubes_.size(); ++i) {
      const std::uint64_t reserved = stats[i].Number("current-jobs-reserved");
      waiting += reserved;
      if (!in_report) continue;
      AddLeft(tubes_[i], reserved, "are reserved by others");
      const std::uint64_t delayed = stats[i].Number("current-jobs-delayed");
      AddLeft(tubes_[i], stats[i].Number("current-jobs-ready"),
              can_reserve_job_ ? "are ready and were not moved"
                               : "are in a paused tube: beanstalkd gives them out since 1.12");
      AddLeft(tubes_[i], delayed,
              deletes_delayed_ ? "are delayed and were not moved"
                               : "are delayed: beanstalkd deletes such jobs since 1.5");
      AddLeft(tubes_[i], stats[i].Number("current-jobs-buried"), "are buried and were not moved");
    }
    return waiting;
  }

 private:
  static constexpr std::size_t kFirstWindow = 4, kMostWindow = 256;
  static constexpr std::size_t kWindowBytes = 16 << 20;

  // Of one round; then other tubes, delayed and buried jobs have their turn.
  static constexpr std::size_t kMostReady = 16 * 1024;

  Status CheckBroker() override { return old_->RefuseSame(options_.target); }

  // A process number may be that of another server.
  bool IsOf(const transfer::Mark& mark) const override {
    return (mark.state == instance_ && !instance_.starts_with(kProcess)) ||
           SameEndpoint(AddressOf(mark.fingerprint), AddressOf(options_.source));
  }

  Status ReadInstance() {
    const Yaml stats = GS_TRY(old_->AskStats());
    instance_ = stats.Get("id");
    // beanstalkd before 1.9 has no id.
    if (instance_.empty()) instance_ = fmt::format("{}{}", kProcess, stats.Get("pid"));
    const std::string_view version = stats.Get("version");
    deletes_delayed_ = version != "1.4" && !version.starts_with("1.4.");
    has_log_ = stats.Number("binlog-current-index") != 0;
    return {};
  }

  // A probe job shows the highest id there; ours begin far above it.
  Status ChooseIds(transfer::Opening& opening) override {
    if (options_.ids != "keep") return {};
    const std::uint64_t probe = GS_TRY(old_->ProbeId(deletes_delayed_));
    if (probe == 0) return {Code::kIo, options_.source + " takes no probe"};
    opening.ids = transfer::Ids::kKeep;
    opening.smallest_id = 1;
    opening.next_id = probe + (std::uint64_t{1} << 32);
    return {};
  }

  // Settles what an interrupted run left, and jobs that somebody else took there.
  Status SettleAll() {
    const bool same = before_.state.empty() || before_.state == instance_;
    Leftovers leftovers(
        *scope_,
        {.same_server = same, .server_lost_all = !same && !has_log_, .connected = was_connected_});
    return leftovers.Settle();
  }

  Status ListTubes() {
    std::vector<std::string> all = GS_TRY(old_->AskList("list-tubes"));
    tubes_.clear();
    for (std::string& tube : all) {
      if (tube == BeanstalkClient::kProbeTube) {
        GS_TRY(DeleteProbe());
      } else if (options_.selection.Has(tube)) {
        tubes_.push_back(std::move(tube));
      }
    }
    return {};
  }

  Status WatchTubes() {
    std::vector<std::string> commands;
    for (const std::string& tube : tubes_) {
      const bool known = std::find(watched_.begin(), watched_.end(), tube) != watched_.end();
      if (!known) commands.push_back("watch " + tube);
    }
    if (watched_.empty() && !tubes_.empty() && !options_.selection.Has("default")) {
      commands.push_back("ignore default");
    }
    for (const std::string& command : commands) old_->Add(command);
    for (std::size_t i = 0; i < commands.size(); ++i) GS_TRY(old_->Line());
    watched_ = tubes_;
    return {};
  }

  // A run that was killed may have left its probe.
  Status DeleteProbe() {
    GS_TRY(old_->Ask(fmt::format("use {}", BeanstalkClient::kProbeTube)));
    for (const char* const peek : {"peek-delayed", "peek-ready"}) {
      old_->Add(peek);
      const BeanstalkClient::Answer probe = GS_TRY(old_->Body());
      if (!probe.found) continue;
      GS_TRY(old_->Ask(fmt::format("delete {}", probe.id)));
    }
    return StatusOf(old_->Ask("use default"));
  }

  Result<std::vector<Yaml>> ReadStats() {
    for (const std::string& tube : tubes_) old_->Add("stats-tube " + tube);
    std::vector<Yaml> of_tubes(tubes_.size());
    for (Yaml& each : of_tubes) each = GS_TRY(old_->ReadYaml());
    return of_tubes;
  }

  Status MoveReady(bool& moved) {
    if (tubes_.empty()) return {};
    auto before = std::make_unique<JobWindow>(*scope_), next = std::make_unique<JobWindow>(*scope_);
    const std::size_t asked = window_;
    next->Reserve(asked);
    GS_TRY(Reserve(*next, asked));
    GS_TRY(next->ReadDescribed("reserved"));
    GS_TRY(next->Hold(Record::Held::kFirstPhase));
    for (std::size_t count = 0; !next->empty();) {
      moved = true;
      count += next->size();
      full_ = full_ && count < kMostReady;
      auto now = std::exchange(next, std::make_unique<JobWindow>(*scope_));
      GS_TRY(Overlap(*before, *now, *next));
      before = std::move(now);
    }
    return before->ReadCommitted();
  }

  // One window is marked and deleted there while the next one is read and held here. Jobs of the
  // next one are reserved behind the marks, so none is in two windows.
  Status Overlap(JobWindow& before, JobWindow& now, JobWindow& next) {
    const std::size_t asked = full_ && !options_.stopped() ? window_ : 0;
    GS_TRY(now.ReadHeld());
    now.Bury();
    next.Reserve(asked);
    GS_TRY(old_->Flush());
    GS_TRY(before.ReadCommitted());
    GS_TRY(now.ReadBuried());
    GS_TRY(now.Confirm());
    GS_TRY(Reserve(next, asked));
    GS_TRY(now.ReadAck());
    now.Ask("delete");
    GS_TRY(old_->Flush());
    GS_TRY(next.ReadDescribed("reserved"));
    GS_TRY(next.Hold(Record::Held::kFirstPhase));
    GS_TRY(now.ReadDeleted());
    return now.Commit();
  }

  Status Reserve(JobWindow& window, std::size_t asked) {
    GS_TRY(window.ReadReserved());
    ChooseWindow(window, asked);
    return old_->Flush();
  }

  // Windows grow while jobs come, up to the limit of their bodies' bytes.
  void ChooseWindow(const JobWindow& last, std::size_t asked) {
    full_ = asked > 0 && last.size() == asked;
    if (!full_) {
      window_ = kFirstWindow;
      return;
    }
    const std::size_t each = last.bytes() / last.size() + 1;
    const std::size_t most = std::clamp<std::size_t>(kWindowBytes / each, 1, kMostWindow);
    window_ = std::min(window_ * 4, most);
  }

  // Sets the rest of the pause at the broker, once for each tube.
  Status SetPause(const std::string& tube, const Yaml& stats) {
    const Time end =
        SystemClock().Now() + static_cast<Time>(stats.Number("pause-time-left")) * kSecond;
    Time& known = pauses_[tube];
    if (std::abs(end - known) <= 2 * kSecond) return {};
    known = end;
    Record record;
    record.kind = Record::Kind::kTube;
    record.tube = tube;
    record.settings.pause_until = end;
    record.settings.pause_s = static_cast<std::uint32_t>(stats.Number("pause"));
    broker_->Add(Type::kTube, record);
    return StatusOf(broker_->Sync());
  }

  // `reserve` returns no job of a paused tube; `reserve-job` does.
  Status ReservePaused(JobWindow& window) {
    for (std::size_t i = 0; i < kMostWindow && window.bytes() < kWindowBytes; ++i) {
      old_->Add("peek-ready");
      const BeanstalkClient::Answer next = GS_TRY(old_->Body());
      if (!next.found) return {};
      old_->Add(fmt::format("reserve-job {}", next.id));
      BeanstalkClient::Answer reserved = GS_TRY(old_->Body());
      // beanstalkd before 1.12 takes it for a malformed "reserve".
      can_reserve_job_ = reserved.found || reserved.line == "NOT_FOUND";
      if (!reserved.found) return {};
      window.Add(reserved.id, std::move(reserved.body));
    }
    return {};
  }

  Status MovePaused(const std::string& tube, bool& moved) {
    GS_TRY(old_->Ask("use " + tube));
    JobWindow window(*scope_);
    GS_TRY(ReservePaused(window));
    if (window.empty()) return {};
    moved = true;
    return window.MoveReserved();
  }

  Status BeginQuiet(bool& moved) {
    const std::vector<Yaml> stats = GS_TRY(ReadStats());
    std::vector<QuietJobs::Tube> quiet;
    for (std::size_t i = 0; i < tubes_.size(); ++i) {
      quiet.push_back({tubes_[i], deletes_delayed_ ? stats[i].Number("current-jobs-delayed") : 0,
                       stats[i].Number("current-jobs-buried")});
      if (stats[i].Number("pause-time-left") == 0) continue;
      GS_TRY(SetPause(tubes_[i], stats[i]));
      if (!can_reserve_job_ || options_.stopped()) continue;
      GS_TRY(MovePaused(tubes_[i], moved));
    }
    return quiet_->Begin(quiet, moved);
  }

  std::unique_ptr<BeanstalkClient> old_;
  std::unique_ptr<MoveScope> scope_;
  std::unique_ptr<QuietJobs> quiet_;
  std::vector<std::string> tubes_, watched_;
  std::map<std::string, Time> pauses_;  // ends of those that were set here
  std::string instance_;
  std::size_t window_ = kFirstWindow;
  bool full_ = false;  // the last window was: there may be more
  bool has_log_ = true, was_connected_ = false, can_reserve_job_ = true;
  bool deletes_delayed_ = true;  // beanstalkd 1.4 refuses to
};

}  // namespace

std::unique_ptr<OldServer> MakeBeanstalkTakeOver(const TakeOverOptions& options, Report& report) {
  return std::make_unique<BeanstalkTakeOver>(options, report);
}

}  // namespace gearstalk::ctl
