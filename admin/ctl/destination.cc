#include "admin/ctl/destination.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "admin/ctl/beanstalk_client.h"
#include "admin/ctl/same_server.h"
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

  Status Greet(const Target& here) override;
  Status Pause(const std::string& tube, std::uint64_t seconds) override;
  Status Put(Jobs jobs) override;
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

  Status ReadPuts(Jobs jobs, std::vector<There>& buried, std::vector<There>& wrong);
  Status BuryAll(std::vector<There>& jobs, std::vector<There>& wrong);
  Status TakeBack(const std::vector<There>& jobs);

  BeanstalkClient old_;
  bool can_reserve_job_ = false;
  Status closed_;
};

Status ToBeanstalkd::Greet(const Target& here) {
  if (const Result<Yaml> stats = old_.AskStats(); !stats.ok()) return stats.status();
  if (Status status = RefuseSame(old_, here); !status.ok()) return status;
  const Result<std::string> line = old_.Ask("reserve-job 0");
  if (!line.ok()) return line.status();
  // beanstalkd before 1.12 takes it for a malformed "reserve".
  can_reserve_job_ = line.value() == "NOT_FOUND";
  return {};
}

// A tube exists while somebody watches it.
Status ToBeanstalkd::Pause(const std::string& tube, std::uint64_t seconds) {
  if (!beanstalk::IsTubeName(tube)) return {};
  const Result<std::string> watching = old_.Ask("watch " + tube);
  if (!watching.ok()) return watching.status();
  const std::uint64_t most = std::min<std::uint64_t>(seconds, UINT32_MAX);
  const Result<std::string> paused = old_.Ask(fmt::format("pause-tube {} {}", tube, most));
  if (!paused.ok()) return paused.status();
  if (paused.value() == "PAUSED") return {};
  Keep(tube, "its tube is paused; the old server answers pause-tube with " + paused.value());
  return {};
}

Status ToBeanstalkd::Put(Jobs jobs) {
  for (const Moving* each : jobs) {
    const Record& job = each->job.View();
    // A consumer that waits there must not get a job before it is buried.
    const bool buried = job.state == State::kBuried;
    old_.Add(fmt::format("use {}", job.tube));
    old_.AddPut(job.priority, buried ? kUnseen : DelayLeft(job), job.ttr_s == 0 ? kTtr : job.ttr_s,
                job.body);
  }
  std::vector<There> buried, wrong;
  if (Status status = ReadPuts(jobs, buried, wrong); !status.ok()) return status;
  if (Status status = BuryAll(buried, wrong); !status.ok()) return status;
  return TakeBack(wrong);
}

Status ToBeanstalkd::ReadPuts(Jobs jobs, std::vector<There>& buried, std::vector<There>& wrong) {
  constexpr std::string_view kInserted = "INSERTED ";
  for (Moving* each : jobs) {
    const Result<std::string> used = old_.Line();
    if (!used.ok()) return used.status();
    const Result<std::string> line = old_.Line();
    if (!line.ok()) return line.status();
    if (!line.value().starts_with(kInserted)) {
      each->left = "the old server says " + line.value();
      if (line.value() != "JOB_TOO_BIG") closed_ = {Code::kIo, each->left};
      continue;
    }
    There there{each, line.value().substr(kInserted.size())};
    const Record& job = each->job.View();
    if (used.value() != fmt::format("USING {}", job.tube)) {
      there.wrong = "the old server answers use with " + used.value();
      wrong.push_back(std::move(there));
    } else if (job.state == State::kBuried) {
      buried.push_back(std::move(there));
    }
  }
  return {};
}

Status ToBeanstalkd::BuryAll(std::vector<There>& jobs, std::vector<There>& wrong) {
  for (const There& there : jobs) {
    old_.Add("reserve-job " + there.id);
    old_.Add(fmt::format("bury {} {}", there.id, there.job->job.View().priority));
  }
  for (There& there : jobs) {
    if (const Result<BeanstalkClient::Answer> got = old_.Body(); !got.ok()) return got.status();
    const Result<std::string> line = old_.Line();
    if (!line.ok()) return line.status();
    if (line.value() == "BURIED") continue;
    there.wrong = "the old server answers bury with " + line.value();
    wrong.push_back(std::move(there));
  }
  return {};
}

// Deletes them there. What cannot be deleted, somebody else has, or had.
Status ToBeanstalkd::TakeBack(const std::vector<There>& jobs) {
  for (const There& there : jobs) old_.Add("delete " + there.id);
  for (const There& there : jobs) {
    const Result<std::string> line = old_.Line();
    if (!line.ok()) return line.status();
    (line.value() == "DELETED" ? there.job->left : there.job->altered) = there.wrong;
  }
  return {};
}

class ToGearmand final : public Destination {
 public:
  ToGearmand(std::unique_ptr<GearmanClient> client, const Classes& classes)
      : old_(std::move(client)), classes_(classes) {}

  Status Greet(const Target& here) override { return RefuseSame(*old_, here); }

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
      if (Status status = PutSome(some); !status.ok()) return status;
      jobs = jobs.subspan(some.size());
    }
    return {};
  }

 protected:
  std::string WhyRefused(const Record& job) const override {
    if (job.state == State::kBuried) return "gearmand has no buried jobs";
    const bool delayed = DelayLeft(job) > 0;
    return delayed && !job.reducer.empty() ? "gearmand has no delayed reduce jobs" : "";
  }

 private:
  // gearmand is silent until it has stored all that it has read, which takes long with some stores.
  static constexpr std::size_t kAtOnce = 16;

  Status PutSome(Jobs jobs) {
    for (const Moving* each : jobs) Add(each->job.View());
    for (Moving* each : jobs) {
      const Result<Packet> answer = old_->Next();
      if (!answer.ok()) return answer.status();
      if (answer.value().type != packet::kJobCreated) each->left = "gearmand refuses it";
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

std::unique_ptr<Destination> MakeBeanstalkd(std::unique_ptr<Channel> channel) {
  return std::make_unique<ToBeanstalkd>(std::move(channel));
}

std::unique_ptr<Destination> MakeGearmand(std::unique_ptr<GearmanClient> client,
                                          const Classes& classes) {
  return std::make_unique<ToGearmand>(std::move(client), classes);
}

}  // namespace gearstalk::ctl
