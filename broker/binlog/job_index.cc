#include "broker/binlog/job_index.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace gearstalk::binlog {
namespace {

std::uint32_t Seconds(Time time) {
  return static_cast<std::uint32_t>(std::min<Time>(time / kSecond, UINT32_MAX));
}

}  // namespace

void JobIndex::AddFile(const std::string& name, std::uint64_t number, std::string_view bytes) {
  if (last_number_ > 0 && number != last_number_ + 1) {
    AddDamage(name, 0, fmt::format("binlog.{} is missing", last_number_ + 1));
  }
  last_number_ = number;
  const std::uint32_t file = files_++;
  FileReader reader(bytes);
  Finding finding = reader.ReadVersion();
  if (finding.kind != Finding::Kind::kNone) return AddFinding(name, finding);
  for (;;) {
    Record record;
    const FileReader::Step step = reader.Next(record, finding);
    if (finding.kind != Finding::Kind::kNone) AddFinding(name, finding);
    if (finding.kind == Finding::Kind::kUnfinished) {
      next_id_ = std::max(next_id_, finding.job + 1);
    }
    if (step == FileReader::Step::kEnd) return;
    if (step == FileReader::Step::kRecord) Add(record, file, bytes);
  }
}

void JobIndex::AddDamage(const std::string& name, std::uint64_t offset, std::string text) {
  damaged_ = true;
  notes_.push_back({name, offset, true, std::move(text)});
}

void JobIndex::AddFinding(const std::string& name, const Finding& finding) {
  const auto note = [&](std::string text) {
    notes_.push_back({name, finding.offset, false, std::move(text)});
  };
  switch (finding.kind) {
    case Finding::Kind::kNone:
      return;
    case Finding::Kind::kCrash:
      return note("unfinished record before zeros: beanstalkd stopped while it wrote");
    case Finding::Kind::kZeroFile:
      return note("zeros only: beanstalkd stopped before it wrote to the file");
    case Finding::Kind::kUnfinished:
      return note(fmt::format("unfinished put of job {}: it was never acknowledged", finding.job));
    case Finding::Kind::kDamage:
    case Finding::Kind::kForeign:
      return AddDamage(name, finding.offset,
                       finding.value > 0 ? fmt::format("{} {}", finding.problem, finding.value)
                                         : std::string(finding.problem));
  }
}

void JobIndex::Add(const Record& record, std::uint32_t file, std::string_view bytes) {
  if (record.id < UINT64_MAX) next_id_ = std::max(next_id_, record.id + 1);
  const auto known = places_.find(record.id);
  if (record.state == State::kGone) {
    if (known == places_.end()) return;
    free_.push_back(known->second);
    jobs_[known->second].id = 0;
    places_.erase(known);
    return;
  }
  if (known == places_.end() && !record.full) return;
  std::uint32_t place = 0;
  if (known != places_.end()) {
    place = known->second;
  } else if (free_.empty()) {
    place = static_cast<std::uint32_t>(jobs_.size());
    jobs_.emplace_back();
    places_.emplace(record.id, place);
  } else {
    place = free_.back();
    free_.pop_back();
    jobs_[place] = {};
    places_.emplace(record.id, place);
  }
  Job& job = jobs_[place];
  job.id = record.id;
  if (record.full) {
    job.tube = PlaceOfTube(record.tube);
    job.file = file;
    job.body_offset = static_cast<std::uint64_t>(record.body.data() - bytes.data());
    job.body_size = static_cast<std::uint32_t>(record.body.size());
  }
  CopyValues(record, job);
  SetState(record, job);
}

std::uint32_t JobIndex::PlaceOfTube(std::string_view name) {
  if (const auto known = tube_places_.find(name); known != tube_places_.end()) {
    return known->second;
  }
  const auto place = static_cast<std::uint32_t>(tubes_.size());
  tubes_.emplace_back(name);
  tube_places_.emplace(name, place);
  return place;
}

void JobIndex::CopyValues(const Record& record, Job& job) {
  job.priority = record.priority;
  job.delay_s = Seconds(record.delay);
  job.ttr_s = Seconds(record.ttr);
  job.created = record.created;
  job.counters = record.counters;
}

void JobIndex::SetState(const Record& record, Job& job) {
  const bool was_buried = job.burial > 0;
  job.state = record.state == State::kReserved ? State::kReady : record.state;
  job.due = job.state == State::kDelayed ? record.deadline : 0;
  if (job.state != State::kBuried) {
    job.burial = 0;
  } else if (!was_buried) {
    job.burial = next_burial_++;
  }
}

void JobIndex::Finish(Time now) {
  std::erase_if(jobs_, [](const Job& job) { return job.id == 0; });
  std::ranges::sort(jobs_, {}, &Job::id);
  places_ = {};
  free_ = {};
  for (Job& job : jobs_) {
    if (job.state != State::kDelayed || job.due > now) continue;
    job.state = State::kReady;
    job.due = 0;
  }
}

}  // namespace gearstalk::binlog
