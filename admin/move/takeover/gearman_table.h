#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "admin/move/gearman_client.h"

namespace gearstalk::ctl {

// A line of gearmand's `prioritystatus`: waiting jobs of a function by class, and its workers.
struct ClassCounts {
  std::uint64_t high = 0, normal = 0, low = 0, workers = 0;
};

// The classes of jobs that one worker grabbed one after the other: first HIGH, then NORMAL, then
// LOW ones.
struct ClassGuess {
  std::uint64_t high = 0, normal = 0;  // the rest is LOW
  bool exact = false;

  // Of the job grabbed as number `place`, from 0: 0 HIGH, 1 NORMAL, 2 LOW.
  int ClassOf(std::uint64_t place) const {
    return place < high ? 0 : place - high < normal ? 1 : 2;
  }
};

// `none_new`: every grabbed job was waiting when `before` was read. It is exact if no other worker
// is there and the counts leave one answer.
ClassGuess GuessClasses(const ClassCounts& before, const ClassCounts& after, std::uint64_t grabbed,
                        bool none_new);

// A handle of gearmand, "H:host:17": the number counts up.
struct Handle {
  std::string prefix{};  // "H:host:"
  std::uint64_t number = 0;

  // False: it is none of this form.
  static bool Parse(std::string_view text, Handle& handle);
};

// Which jobs of a gearmand are in the foreground: what `show jobs` said last.
class JobTable {
 public:
  Status Read(GearmanClient& admin);
  // Whether a job was there, or is older than one that was.
  bool Knows(std::uint64_t number) const { return number <= newest_; }
  std::uint64_t newest() const { return newest_; }
  bool IsForeground(std::uint64_t number) const { return foreground_.contains(number); }

 private:
  std::uint64_t newest_ = 0;
  std::set<std::uint64_t> foreground_{};
};

// A line of `status`.
struct FunctionStatus {
  std::string function{};
  std::uint64_t total = 0, running = 0, workers = 0;
};
Result<std::vector<FunctionStatus>> ReadFunctions(GearmanClient& admin);
// That of one function; all zero if it has none.
Result<FunctionStatus> ReadFunction(GearmanClient& admin, std::string_view function);

// The line of `prioritystatus` of a function. Nothing: the server has no such line.
Result<std::optional<ClassCounts>> ReadClasses(GearmanClient& admin, std::string_view function);

}  // namespace gearstalk::ctl
