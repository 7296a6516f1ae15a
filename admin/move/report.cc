#include "admin/move/report.h"

#include <fmt/format.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "admin/move/new_file.h"
#include "broker/base/base64.h"
#include "broker/base/clock.h"
#include "broker/base/utf8.h"

namespace gearstalk::ctl {
namespace {

using Json = nlohmann::ordered_json;

Time Now() { return SystemClock().Now(); }

std::string Printable(const std::string& bytes) {
  return IsUtf8(bytes) ? bytes : "base64:" + ToBase64(bytes);
}

}  // namespace

void Report::Counts::Add(Record::State state) {
  if (state == Record::State::kDelayed) {
    ++delayed;
  } else if (state == Record::State::kBuried) {
    ++buried;
  } else {
    ++ready;
  }
}

void Report::AddTo(Parameters& parameters) {
  parameters.insert(
      parameters.end(),
      {{"--report", &file_, "Write what was done to a file, as JSON"},
       {"--progress", &progress_s_, "Seconds between lines of progress; 0: none", kNotNegative}});
}

void Report::Begin() {
  if (progress_s_ < 0) progress_s_ = isatty(2) != 0 ? 1 : 10;
  began_ = Now();
  next_ = began_ + progress_s_ * kSecond;
}

void Report::Found(const Record& job) {
  found.Add(job.state);
  found_bytes += job.body.size();
  const auto tube = tubes_.find(job.tube);
  (tube == tubes_.end() ? tubes_[std::string(job.tube)] : tube->second).Add(job.state);
}

void Report::Moved(const Record& job) {
  ++done;
  Found(job);
}

void Report::AddLeft(std::uint64_t count, std::string_view tube, std::string why,
                     std::uint64_t id) {
  if (count == 0) return;
  left += count;
  jobs.push_back(
      {id == 0 ? "" : std::to_string(id), std::string(tube), id, "left", std::move(why)});
}

void Report::ForgetLeft() {
  left = 0;
  std::erase_if(jobs, [](const ReportedJob& job) { return job.outcome == "left"; });
}

void Report::TakeMark(const transfer::Mark& mark, const transfer::Mark& before) {
  done = mark.moved - before.moved;
  joined = mark.joined - before.joined;
  refused = mark.refused - before.refused;
  altered = mark.altered - before.altered;
  uncertain = mark.uncertain;
  for (const transfer::MarkedJob& job : mark.jobs) {
    jobs.push_back({job.key, job.tube, job.job,
                    std::string(transfer::kOutcomeNames[static_cast<std::size_t>(job.kind) % 5]),
                    job.text});
  }
}

void Report::Progress(std::uint64_t jobs_done, std::uint64_t bytes, std::string_view waits_for) {
  if (progress_s_ == 0) return;
  const Time now = Now();
  if (now < next_) return;
  next_ = now + progress_s_ * kSecond;
  const double seconds = static_cast<double>(now - began_) / kSecond;
  const std::string of = command_ == "import" ? fmt::format(" of {}", found.jobs()) : "";
  const std::string_view wait = waits_for.empty() ? "" : "; waits: ";
  fmt::print(stderr, "{}: {}{} jobs, {} MB, {:.0f} jobs/s{}{}\n", command_, jobs_done, of,
             bytes / 1'000'000, seconds > 0 ? static_cast<double>(jobs_done) / seconds : 0.0, wait,
             waits_for);
}

int Report::End(int exit, const std::string& error) {
  const bool rest = joined + refused + altered + uncertain + (may_leave ? 0 : left) > 0 || damaged;
  if (exit == kDone && rest && !goes_on) exit = kDoneWithRest;
  PrintNotes();
  if (!error.empty()) Tell(error);
  if (!file_.empty() && !Write(exit)) {
    Tell(fmt::format("--report {}: cannot be written", file_));
    if (exit == kDone || exit == kDoneWithRest) exit = kFailed;
  }
  // What an interrupted reading found says nothing; a damaged source was read to its end.
  if (dry_run && (error.empty() || damaged)) {
    fmt::print("{}: found {} jobs ({} ready, {} delayed, {} buried)\n", command_, found.jobs(),
               found.ready, found.delayed, found.buried);
  }
  fmt::print("{}: {} {}, {} already there, {} joined, {} refused, {} uncertain, {} notes{}\n",
             command_, done, verb_, already, joined, refused, uncertain, notes_.size(),
             command_ == "import" ? "" : fmt::format(", {} left", left));
  return exit;
}

// take-over prints its hints when it begins.
void Report::PrintNotes() const {
  constexpr std::size_t kMost = 20;
  std::size_t printed = 0;
  for (const Note& note : notes_) {
    const bool known = note.kind == "hint" && command_ == "take-over";
    if (known || ++printed > kMost) continue;
    Tell(fmt::format("{} at {}: {}", note.kind, note.where, note.text));
  }
  if (printed > kMost) Tell(fmt::format("and {} more", printed - kMost));
}

bool Report::Write(int exit) const {
  Json json = {{"command", command_},
               {"source", Printable(source)},
               {"to", Printable(to)},
               {"dry_run", dry_run},
               {"resumed", resumed}};
  const Time milliseconds = (Now() - began_) / kMillisecond;
  json["seconds"] = static_cast<double>(milliseconds) / 1000.0;
  json["exit"] = exit;
  json["ids"] = ids;
  json["found"] = {{"jobs", found.jobs()},
                   {"ready", found.ready},
                   {"delayed", found.delayed},
                   {"buried", found.buried},
                   {"bytes", found_bytes}};
  json[verb_] = done;
  json["already"] = already;
  json["joined"] = joined;
  json["refused"] = refused;
  json["altered"] = altered;
  json["uncertain"] = uncertain;
  json["left"] = left;
  json["tubes"] = Json::array();
  for (const auto& [tube, counts] : tubes_) {
    json["tubes"].push_back({{"tube", Printable(tube)},
                             {"ready", counts.ready},
                             {"delayed", counts.delayed},
                             {"buried", counts.buried}});
  }
  json["notes"] = Json::array();
  for (const Note& note : notes_) {
    json["notes"].push_back(
        {{"kind", note.kind}, {"where", Printable(note.where)}, {"text", Printable(note.text)}});
  }
  json["jobs"] = Json::array();
  for (const ReportedJob& job : jobs) {
    json["jobs"].push_back({{"key", Printable(job.key)},
                            {"tube", Printable(job.tube)},
                            {"job", job.job},
                            {"outcome", job.outcome},
                            {"text", Printable(job.text)}});
  }
  NewFile file(file_);
  return file.open() && file.Write(json.dump(1) + "\n") && file.Finish();
}

}  // namespace gearstalk::ctl
