// hand-back: moves our jobs to a beanstalkd or gearmand. A job is held back here (phase 1), about
// to be sent (phase 2), put there, then dropped here. What an interrupted run left in phase 1 comes
// back; in phase 2 it comes back, too, and is uncertain: it may be there.

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "admin/ctl/beanstalk_client.h"
#include "admin/ctl/command.h"
#include "admin/ctl/exit.h"
#include "admin/ctl/gearman_client.h"
#include "admin/ctl/report.h"
#include "admin/ctl/transfer_client.h"
#include "broker/base/clock.h"
#include "proto_beanstalk/parser.h"

namespace gearstalk::ctl {
namespace {

using transfer::JobState;
using transfer::Type;

constexpr std::uint64_t kWindow = 256;

struct Options {
  std::string to;
  Target target;
  std::vector<std::string> tubes;
};

struct Moving {
  transfer::Job job;
  std::string tube, unique, reducer, body;
  std::string left;  // not empty: why it cannot go
};

std::uint64_t DelayLeft(const transfer::Job& job) {
  const Time left = job.state == JobState::kDelayed ? job.due - SystemClock().Now() : 0;
  return left <= 0 ? 0 : static_cast<std::uint64_t>((left + kSecond - 1) / kSecond);
}

// The server that jobs go to.
class Destination {
 public:
  virtual ~Destination() = default;
  // An error: there is no such server.
  virtual Status Greet() = 0;
  // Puts all jobs and sets `left` of those that the server refuses. After an error it is unknown
  // which arrived.
  virtual Status Put(std::vector<std::unique_ptr<Moving>>& jobs) = 0;
  // Why the server takes no more jobs of any kind.
  virtual Status Closed() const { return {}; }
};

class ToBeanstalkd final : public Destination {
 public:
  explicit ToBeanstalkd(std::unique_ptr<Channel> channel) : old_(std::move(channel)) {}

  Status Greet() override {
    const Result<Yaml> stats = old_.AskYaml("stats");
    if (!stats.ok()) return stats.status();
    if (stats.value().empty()) return {Code::kIo, "that is no beanstalkd"};
    const Result<std::string> line = old_.Ask("reserve-job 0");
    if (!line.ok()) return line.status();
    // beanstalkd before 1.12 takes it for a malformed "reserve".
    can_reserve_job_ = line.value() == "NOT_FOUND";
    return {};
  }

  Status Put(std::vector<std::unique_ptr<Moving>>& jobs) override {
    for (const auto& each : jobs) {
      each->left = WhyNot(*each);
      if (!each->left.empty()) continue;
      // A consumer that waits there must not get a job before it is buried.
      const bool buried = each->job.state == JobState::kBuried;
      old_.Add("use " + each->tube);
      old_.AddPut(each->job.priority, buried ? kUnseen : DelayLeft(each->job),
                  each->job.ttr_s == 0 ? kTtr : each->job.ttr_s, each->body);
    }
    std::vector<std::pair<Moving*, std::string>> buried;
    for (const auto& each : jobs) {
      if (!each->left.empty()) continue;
      const Result<std::string> used = old_.Line();
      if (!used.ok()) return used.status();
      const Result<std::string> line = old_.Line();
      if (!line.ok()) return line.status();
      if (!line.value().starts_with("INSERTED ")) {
        each->left = "the old server says " + line.value();
        if (line.value() != "JOB_TOO_BIG") closed_ = {Code::kIo, each->left};
      } else if (each->job.state == JobState::kBuried) {
        buried.emplace_back(each.get(), line.value().substr(9));
      }
    }
    return BuryAll(buried);
  }

  Status Closed() const override { return closed_; }

 private:
  static constexpr std::uint32_t kTtr = 120;      // seconds, of jobs without one
  static constexpr std::uint64_t kUnseen = 3600;  // seconds, until a buried job is buried

  // Such jobs are not sent: after a refused `use` the job would go into the tube before it, after a
  // refused `put` the server would read the body as commands.
  std::string WhyNot(const Moving& moving) const {
    if (!beanstalk::IsTubeName(moving.tube)) return "beanstalkd cannot say the name of its tube";
    if (DelayLeft(moving.job) > UINT32_MAX) return "beanstalkd knows no delay that long";
    const bool buried = moving.job.state == JobState::kBuried;
    return buried && !can_reserve_job_ ? "buried jobs need beanstalkd 1.12" : "";
  }

  Status BuryAll(const std::vector<std::pair<Moving*, std::string>>& jobs) {
    for (const auto& [job, id] : jobs) {
      old_.Add("reserve-job " + id);
      old_.Add(fmt::format("bury {} {}", id, job->job.priority));
    }
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      if (const Result<BeanstalkClient::Answer> got = old_.Body(); !got.ok()) return got.status();
      if (const Result<std::string> line = old_.Line(); !line.ok()) return line.status();
    }
    return {};
  }

  BeanstalkClient old_;
  bool can_reserve_job_ = false;
  Status closed_;
};

class ToGearmand final : public Destination {
 public:
  ToGearmand(std::unique_ptr<Channel> channel, const Classes& classes)
      : old_(std::move(channel)), classes_(classes) {}

  Status Greet() override {
    const Result<std::vector<std::string>> version = old_.Admin("version", false);
    return version.ok() ? Status() : version.status();
  }

  Status Put(std::vector<std::unique_ptr<Moving>>& jobs) override {
    std::vector<Moving*> sent;
    for (const auto& each : jobs) {
      if (each->job.state == JobState::kBuried) {
        each->left = "gearmand has no buried jobs";
        continue;
      }
      const std::uint64_t delay = DelayLeft(each->job);
      if (delay > 0 && !each->reducer.empty()) {
        each->left = "gearmand has no delayed reduce jobs";
        continue;
      }
      Add(*each, delay);
      sent.push_back(each.get());
    }
    for (Moving* each : sent) {
      const Result<Packet> answer = old_.Next();
      if (!answer.ok()) return answer.status();
      if (answer.value().type != packet::kJobCreated) each->left = "gearmand refuses it";
    }
    return {};
  }

 private:
  void Add(const Moving& job, std::uint64_t delay) {
    const std::string unique = job.job.unique_is_body ? "-" : job.unique;
    if (delay > 0) {
      const auto due = static_cast<std::uint64_t>(SystemClock().Now() / kSecond) + delay;
      old_.Add(packet::kSubmitEpoch, {job.tube, unique, std::to_string(due), job.body});
    } else if (!job.reducer.empty()) {
      old_.Add(packet::kSubmitReduceBg, {job.tube, unique, job.reducer, "", job.body});
    } else {
      old_.Add(ClassOf(job.job.priority), {job.tube, unique, job.body});
    }
  }

  // The class by the same bounds as in the broker.
  std::uint32_t ClassOf(std::uint32_t priority) const {
    constexpr std::uint32_t kUrgent = 1024;
    if (priority < kUrgent || priority == classes_.high) return packet::kSubmitHighBg;
    return priority <= classes_.normal ? packet::kSubmitBg : packet::kSubmitLowBg;
  }

  GearmanClient old_;
  const Classes classes_;
};

class HandBack {
 public:
  HandBack(const Options& options, Report& report) : options_(options), report_(report) {}

  Status Run() {
    if (Status status = Begin(); !status.ok()) return status;
    transfer::Selection selection;
    selection.tubes = options_.tubes;
    selection.most = kWindow;
    for (;;) {
      std::vector<std::unique_ptr<Moving>> jobs;
      const Result<transfer::End> end = Collect(Type::kHoldBack, selection, jobs);
      if (!end.ok()) {
        // Jobs that are held back go to their queues again.
        const Status settled = Settle();
        return settled.ok() ? end.status() : settled;
      }
      busy_ += end.value().busy;
      if (jobs.empty()) break;
      selection.after = end.value().next_id;
      if (Status status = Move(jobs); !status.ok()) return status;
      if (Status status = there_->Closed(); !status.ok()) return status;
      report_.Progress(report_.done, report_.found_bytes);
    }
    return End();
  }

 private:
  Status Begin() {
    Result<std::unique_ptr<TransferClient>> broker = TransferClient::Connect(options_.target);
    if (!broker.ok()) return broker.status();
    broker_ = std::move(broker.value());
    opening_.name = "hand-back " + options_.to;
    opening_.kind = "hand-back";
    opening_.fingerprint = options_.to;
    opening_.ids = transfer::Ids::kNew;
    opening_.any_fingerprint = true;
    const Result<transfer::MarkOf> mark = broker_->Open(opening_);
    if (!mark.ok()) return mark.status();
    report_.resumed = mark.value().known;
    if (Status status = ConnectThere(); !status.ok()) return status;
    return Settle();
  }

  Status ConnectThere() {
    Result<std::unique_ptr<Channel>> channel =
        Connect(options_.to.substr(options_.to.find("://") + 3));
    if (!channel.ok()) return channel.status();
    if (options_.to.starts_with("gearman://")) {
      there_ = std::make_unique<ToGearmand>(std::move(channel.value()), broker_->classes());
    } else {
      there_ = std::make_unique<ToBeanstalkd>(std::move(channel.value()));
    }
    return there_->Greet();
  }

  Result<transfer::End> Collect(Type type, const transfer::Selection& selection,
                                std::vector<std::unique_ptr<Moving>>& jobs) {
    return broker_->Ask(type, selection, [&](const transfer::Frame& frame) {
      auto each = std::make_unique<Moving>();
      if (!ReadFields(frame.fields, each->job)) return Status(Code::kIo, "no job");
      each->tube = each->job.tube;
      each->unique = each->job.unique;
      each->reducer = each->job.reducer;
      each->body = frame.body;
      each->job.tube = each->tube;
      each->job.body = each->body;
      jobs.push_back(std::move(each));
      return Status();
    });
  }

  void AddUncertain(const Moving& moving) {
    transfer::Mark change;
    change.jobs.push_back({.key = std::to_string(moving.job.id),
                           .tube = moving.tube,
                           .job = moving.job.id,
                           .kind = transfer::OutcomeKind::kUncertain,
                           .text = "it may have been put there, too"});
    broker_->Add(Type::kAdvance, change);
  }

  Status Sync() {
    const Result<transfer::Ack> ack = broker_->Sync();
    return ack.ok() ? Status() : ack.status();
  }

  Status Settle() {
    std::vector<std::unique_ptr<Moving>> jobs;
    const Result<transfer::End> end = Collect(Type::kListHeld, {}, jobs);
    if (!end.ok()) return end.status();
    for (const auto& each : jobs) {
      if (each->job.held == 2) AddUncertain(*each);
      broker_->AddIds(Type::kCommit, {each->job.id});
    }
    return Sync();
  }

  Status Move(std::vector<std::unique_ptr<Moving>>& jobs) {
    std::vector<std::uint64_t> ids, gone, back;
    for (const auto& each : jobs) ids.push_back(each->job.id);
    broker_->AddIds(Type::kConfirm, ids);
    if (Status status = Sync(); !status.ok()) return status;
    if (Status status = there_->Put(jobs); !status.ok()) return status;
    for (const auto& each : jobs) {
      (each->left.empty() ? gone : back).push_back(each->job.id);
      if (each->left.empty()) {
        report_.Moved(each->job);
      } else {
        ++report_.left;
        report_.jobs.push_back(
            {std::to_string(each->job.id), each->tube, each->job.id, "left", each->left});
      }
    }
    if (!gone.empty()) broker_->AddIds(Type::kDrop, gone);
    if (!back.empty()) broker_->AddIds(Type::kCommit, back);
    return Sync();
  }

  Status End() {
    const Result<transfer::MarkOf> end = broker_->Open(opening_);
    if (!end.ok()) return end.status();
    transfer::Mark mark;
    if (!transfer::Mark::Decode(end.value().mark, mark)) return {Code::kIo, "a damaged mark"};
    if (busy_ > 0) {
      report_.left += busy_;
      report_.jobs.push_back(
          {"", "", 0, "left", fmt::format("{} are reserved, or a client waits for them", busy_)});
    }
    const std::uint64_t done = report_.done;
    report_.TakeMark(mark, mark);
    report_.done = done;
    return broker_->Close();
  }

  const Options& options_;
  Report& report_;
  transfer::Opening opening_;
  std::uint64_t busy_ = 0;  // jobs that stay because somebody has them
  std::unique_ptr<Destination> there_;
  std::unique_ptr<TransferClient> broker_;
};

}  // namespace

std::function<int()> SetUpHandBack(CLI::App& app) {
  const auto options = std::make_shared<Options>();
  const auto report = std::make_shared<Report>("hand-back", "moved");
  app.add_option("to", options->to, "beanstalk://HOST:PORT or gearman://HOST:PORT")->required();
  options->target.AddOptions(app, "--from", false);
  app.add_option("--tube", options->tubes, "Only this tube; may be repeated")
      ->allow_extra_args(false);
  report->AddOptions(app);
  return [options, report] {
    report->source = options->target.Name();
    report->to = options->to;
    report->Begin();
    if (!options->to.starts_with("beanstalk://") && !options->to.starts_with("gearman://")) {
      return report->End(kBadUsage,
                         "hand-back: expected beanstalk://HOST:PORT or gearman://HOST:PORT");
    }
    if (Status same = CheckOther(options->to, options->target.address); !same.ok()) {
      return report->End(kBadUsage, same.message());
    }
    HandBack hand_back(*options, *report);
    const Status status = hand_back.Run();
    return report->End(status.code() == Code::kInUse ? kFailed : ExitOf(status), status.message());
  };
}

}  // namespace gearstalk::ctl
