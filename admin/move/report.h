#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "admin/ctl/command.h"
#include "admin/move/sources/source.h"
#include "broker/transfer/mark.h"

namespace gearstalk::ctl {

struct ReportedJob {
  std::string key{}, tube{};
  std::uint64_t job = 0;
  std::string outcome{}, text{};
};

// Reports what a command has done: progress, the last line on standard output, and --report's file.
class Report {
 public:
  struct Counts {
    std::uint64_t ready = 0, delayed = 0, buried = 0;
    std::uint64_t jobs() const { return ready + delayed + buried; }
    void Add(Record::State state);
  };

  // `verb`: "imported" or "moved".
  Report(std::string command, std::string verb)
      : command_(std::move(command)), verb_(std::move(verb)) {}
  void AddTo(Parameters& parameters);

  void PrintNoProgress() { progress_s_ = 0; }

  // Starts the clock.
  void Begin();
  void Found(const Record& job);
  // A row that cannot be a job.
  void FoundRefused() { ++found.ready; }
  void Moved(const Record& job);
  void AddNote(Note note) { notes_.push_back(std::move(note)); }
  // `id` 0: of no single job.
  void AddLeft(std::uint64_t count, std::string_view tube, std::string why, std::uint64_t id = 0);
  void ForgetLeft();
  // Counts and jobs of the whole transfer; what the mark had before this run.
  void TakeMark(const transfer::Mark& mark, const transfer::Mark& before);
  // A line to standard error if it is time for one. `waits_for`: why nothing moves; empty: it does.
  void Progress(std::uint64_t done, std::uint64_t bytes, std::string_view waits_for = {});

  // Writes the report and the last line; returns the exit code: `exit`, or kDoneWithRest.
  int End(int exit, const std::string& error = {});

  std::string source{}, to{}, ids{};
  bool dry_run = false, resumed = false;
  Counts found;
  std::uint64_t found_bytes = 0;
  std::uint64_t done = 0, already = 0, joined = 0, refused = 0, altered = 0, uncertain = 0,
                left = 0;
  bool damaged = false;
  bool goes_on = false;    // it ends when it is told to: no outcome is a failure
  bool may_leave = false;  // jobs that are left are no failure
  std::vector<ReportedJob> jobs{};
  std::optional<transfer::Mark> mark_before{};  // the mark of a take-over when this run began

 private:
  bool Write(int exit) const;
  void PrintNotes() const;

  const std::string command_, verb_;
  std::string file_{};
  int progress_s_ = -1;
  std::int64_t began_ = 0, next_ = 0;
  std::map<std::string, Counts, std::less<>> tubes_;
  std::vector<Note> notes_{};
};

}  // namespace gearstalk::ctl
