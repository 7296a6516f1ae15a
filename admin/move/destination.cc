#include "admin/move/destination.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "admin/move/beanstalk_client.h"
#include "admin/move/gearman_client.h"
#include "admin/move/sources/source.h"
#include "broker/base/clock.h"
#include "proto_beanstalk/parser.h"

namespace gearstalk::ctl {
namespace {

using State = Record::State;

std::uint64_t DelayLeft(const Record& job) {
  const Time left = job.state == State::kDelayed ? job.due - SystemClock().Now() : 0;
  return left <= 0 ? 0 : static_cast<std::uint64_t>((left + kSecond - 1) / kSecond);
}

class ToBeanstalkd final : public Destination {
 public:
  explicit ToBeanstalkd(std::unique_ptr<Channel> channel) : old_(std::move(channel)) {}

  Status Greet(const Target& here) override {
    GS_TRY(old_.AskStats());
    GS_TRY(old_.RefuseSame(here));
    const std::string line = GS_TRY(old_.Ask("reserve-job 0"));
    // beanstalkd before 1.12 takes it for a malformed "reserve".
    can_reserve_job_ = line == "NOT_FOUND";
    return {};
  }

  // A tube exists while somebody watches it.
  Status Pause(const std::string& tube, std::uint64_t seconds) override {
    if (!beanstalk::IsTubeName(tube)) return {};
    GS_TRY(old_.Ask("watch " + tube));
    const std::uint64_t most = std::min<std::uint64_t>(seconds, UINT32_MAX);
    const std::string paused = GS_TRY(old_.Ask(fmt::format("pause-tube {} {}", tube, most)));
    if (paused == "PAUSED") return {};
    Keep(tube, "its tube is paused; the old server answers pause-tube with " + paused);
    return {};
  }

  Status Put(Jobs jobs) override {
    for (const Moving* each : jobs) {
      const Record& job = each->job.View();
      // A consumer that waits there must not get a job before it is buried.
      const bool buried = job.state == State::kBuried;
      old_.Add(fmt::format("use {}", job.tube));
      old_.AddPut(job.priority, buried ? kUnseen : DelayLeft(job),
                  job.ttr_s == 0 ? kTtr : job.ttr_s, job.body);
    }
    std::vector<There> buried, wrong;
    GS_TRY(ReadPuts(jobs, buried, wrong));
    GS_TRY(BuryAll(buried, wrong));
    return TakeBack(wrong);
  }

  Status Closed() const override { return closed_; }

  std::string_view Foreign(const Record& job) const override {
    return job.keep_on_failure
               ? ""
               : "jobs of Gearman clients go to beanstalkd, where no Gearman worker gets them";
  }

 protected:
  // Such jobs are not sent: after a refused `use` the job would go into the tube before it, after a
  // refused `put` the server would read the body as commands.
  std::string WhyRefused(const Record& job) const override {
    if (!beanstalk::IsTubeName(job.tube)) return "beanstalkd cannot say the name of its tube";
    if (DelayLeft(job) > UINT32_MAX) return "beanstalkd knows no delay that long";
    const bool buried = job.state == State::kBuried;
    return buried && !can_reserve_job_ ? "buried jobs need beanstalkd 1.12" : "";
  }

 private:
  static constexpr std::uint32_t kTtr = 120;      // seconds, of jobs without one
  static constexpr std::uint64_t kUnseen = 3600;  // seconds, until a buried job is buried

  // A job that was put there.
  struct There {
    Moving* job;
    std::string id;
    std::string wrong{};  // not empty: why it cannot stay there
  };

  Status ReadPuts(Jobs jobs, std::vector<There>& buried, std::vector<There>& wrong) {
    constexpr std::string_view kInserted = "INSERTED ";
    for (Moving* each : jobs) {
      const std::string used = GS_TRY(old_.Line());
      const std::string line = GS_TRY(old_.Line());
      if (!line.starts_with(kInserted)) {
        each->left = "the old server says " + line;
        if (line != "JOB_TOO_BIG") closed_ = {Code::kIo, each->left};
        continue;
      }
      There there{each, line.substr(kInserted.size())};
      const Record& job = each->job.View();
      if (used != fmt::format("USING {}", job.tube)) {
        there.wrong = "the old server answers use with " + used;
        wrong.push_back(std::move(there));
      } else if (job.state == State::kBuried) {
        buried.push_back(std::move(there));
      }
    }
    return {};
  }

  Status BuryAll(std::vector<There>& jobs, std::vector<There>& wrong) {
    for (const There& there : jobs) {
      old_.Add("reserve-job " + there.id);
      old_.Add(fmt::format("bury {} {}", there.id, there.job->job.View().priority));
    }
    for (There& there : jobs) {
      GS_TRY(old_.Body());
      const std::string line = GS_TRY(old_.Line());
      if (line == "BURIED") continue;
      there.wrong = "the old server answers bury with " + line;
      wrong.push_back(std::move(there));
    }
    return {};
  }

  // Deletes them there. What cannot be deleted, somebody else has, or had.
  Status TakeBack(const std::vector<There>& jobs) {
    for (const There& there : jobs) old_.Add("delete " + there.id);
    for (const There& there : jobs) {
      const std::string line = GS_TRY(old_.Line());
      (line == "DELETED" ? there.job->left : there.job->altered) = there.wrong;
    }
    return {};
  }

  BeanstalkClient old_;
  bool can_reserve_job_ = false;
  Status closed_;
};

class ToGearmand final : public Destination {
 public:
  ToGearmand(std::unique_ptr<GearmanClient> client, const Classes& classes)
      : old_(std::move(client)), classes_(classes) {}

  Status Greet(const Target& here) override { return old_->RefuseSame(here); }

  Status Pause(const std::string& tube, std::uint64_t /*seconds*/) override {
    Keep(tube, "its tube is paused, and gearmand has no pause");
    return {};
  }

  std::string_view Foreign(const Record& job) const override {
    return job.keep_on_failure
               ? "jobs of beanstalk clients go to gearmand, where no beanstalk consumer gets them"
               : "";
  }

  Status Put(Jobs jobs) override {
    while (!jobs.empty()) {
      const Jobs some = jobs.first(std::min(kAtOnce, jobs.size()));
      GS_TRY(PutSome(some));
      jobs = jobs.subspan(some.size());
    }
    return {};
  }

 protected:
  std::string WhyRefused(const Record& job) const override {
    if (job.state == State::kBuried) return "gearmand has no buried jobs";
    if (const std::string_view nul = NulIn(job); !nul.empty()) return std::string(nul);
    const bool delayed = DelayLeft(job) > 0;
    return delayed && !job.reducer.empty() ? "gearmand has no delayed reduce jobs" : "";
  }

 private:
  // gearmand is silent until it has stored all that it has read, which takes long with some stores.
  static constexpr std::size_t kAtOnce = 16;

  Status PutSome(Jobs jobs) {
    for (const Moving* each : jobs) Add(each->job.View());
    for (Moving* each : jobs) {
      const Packet answer = GS_TRY(old_->Next());
      if (answer.type != packet::kJobCreated) each->left = "gearmand refuses it";
    }
    return {};
  }

  void Add(const Record& job) {
    const std::string_view unique = job.unique_is_body ? "-" : job.unique;
    if (!job.reducer.empty()) {
      old_->Add(packet::kSubmitReduceBg, {job.tube, unique, job.reducer, "", job.body});
    } else if (const std::uint64_t delay = DelayLeft(job); delay > 0) {
      const auto due = static_cast<std::uint64_t>(SystemClock().Now() / kSecond) + delay;
      old_->Add(packet::kSubmitEpoch, {job.tube, unique, std::to_string(due), job.body});
    } else {
      old_->Add(ClassOf(job.priority), {job.tube, unique, job.body});
    }
  }

  // The class by the same bounds as in the broker.
  std::uint32_t ClassOf(std::uint32_t priority) const {
    constexpr std::uint32_t kUrgent = 1024;
    if (priority < kUrgent || priority == classes_.high) return packet::kSubmitHighBg;
    return priority <= classes_.normal ? packet::kSubmitBg : packet::kSubmitLowBg;
  }

  const std::unique_ptr<GearmanClient> old_;
  const Classes classes_;
};

}  // namespace

std::string Destination::WhyNot(const Record& job) const {
  const auto kept = kept_.find(job.tube);
  return kept == kept_.end() ? WhyRefused(job) : kept->second;
}

Result<std::unique_ptr<Destination>> ConnectDestination(const std::string& url,
                                                        const Classes& classes) {
  const Target there{.address = AddressOf(url)};
  std::unique_ptr<Destination> destination;
  if (url.starts_with("gearman://")) {
    std::unique_ptr<GearmanClient> client = GS_TRY(GearmanClient::Connect(there));
    destination = std::make_unique<ToGearmand>(std::move(client), classes);
  } else {
    std::unique_ptr<Channel> channel = GS_TRY(Connect(there));
    destination = std::make_unique<ToBeanstalkd>(std::move(channel));
  }
  return destination;
}

}  // namespace gearstalk::ctl
