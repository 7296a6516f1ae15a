#include "admin/move/takeover/gearman_table.h"

#include <algorithm>
#include <array>

#include "broker/base/split.h"
#include "broker/base/status.h"

namespace gearstalk::ctl {
namespace {

// Whether exactly as many jobs left the queue between the two counts as were grabbed.
bool DifferenceFits(const ClassCounts& before, const ClassCounts& after, std::uint64_t grabbed) {
  const bool shrank =
      after.high <= before.high && after.normal <= before.normal && after.low <= before.low;
  return shrank &&
         before.high - after.high + before.normal - after.normal + before.low - after.low ==
             grabbed;
}

// The numbers behind the last tabs of a line; what is before them is the name, which may have tabs.
template <std::size_t kCount>
bool Columns(std::string_view line, std::string& name, std::array<std::uint64_t, kCount>& numbers) {
  for (std::size_t i = kCount; i-- > 0;) {
    const std::size_t tab = line.rfind('\t');
    if (tab == std::string_view::npos || !ParseNumber(line.substr(tab + 1), numbers[i]))
      return false;
    line = line.substr(0, tab);
  }
  name = line;
  return true;
}

template <std::size_t kCount>
struct Row {
  std::string name{};
  std::array<std::uint64_t, kCount> numbers{};
};

// The rows of the table that answers `command`. A name may have line ends: then the line before one
// has no numbers.
template <std::size_t kCount>
Result<std::vector<Row<kCount>>> ReadTable(GearmanClient& admin, std::string_view command) {
  const std::vector<std::string> lines = GS_TRY(admin.Admin(command));
  std::vector<Row<kCount>> rows;
  std::string text;
  for (const std::string& line : lines) {
    text += line;
    Row<kCount> row;
    if (Columns(text, row.name, row.numbers)) {
      rows.push_back(std::move(row));
      text.clear();
    } else {
      text += '\n';
    }
  }
  if (text.empty()) return rows;
  text.pop_back();
  return Status(Code::kIo, std::string(command) + " of the old server says '" + text + "'");
}

}  // namespace

ClassGuess GuessClasses(const ClassCounts& before, const ClassCounts& after, std::uint64_t grabbed,
                        bool none_new) {
  ClassGuess guess;
  const bool alone = before.workers <= 1 && after.workers <= 1;
  if (alone && DifferenceFits(before, after, grabbed)) {
    guess.high = before.high - after.high;
    guess.normal = before.normal - after.normal;
    guess.exact = true;
    return guess;
  }
  // Jobs beyond the counted ones are new, and taken for NORMAL, as most jobs are.
  guess.high = std::min(before.high, grabbed);
  const std::uint64_t others = grabbed - guess.high;
  const std::uint64_t normal = std::min(before.normal, others);
  const std::uint64_t low = std::min(before.low, others - normal);
  guess.normal = others - low;
  guess.exact = alone && none_new && guess.high + normal + low == grabbed &&
                after.high >= before.high - guess.high && after.normal >= before.normal - normal &&
                after.low >= before.low - low;
  return guess;
}

bool Handle::Parse(std::string_view text, Handle& handle) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos || !ParseNumber(text.substr(colon + 1), handle.number)) {
    return false;
  }
  handle.prefix = text.substr(0, colon + 1);
  return true;
}

Status JobTable::Read(GearmanClient& admin) {
  // Retries, ignored, background.
  const std::vector<Row<3>> rows = GS_TRY(ReadTable<3>(admin, "show jobs"));
  foreground_.clear();
  for (const Row<3>& row : rows) {
    Handle handle;
    if (!Handle::Parse(row.name, handle)) {
      return {Code::kIo, "show jobs of the old server names the job '" + row.name + "'"};
    }
    newest_ = std::max(newest_, handle.number);
    if (row.numbers[2] == 0) foreground_.insert(handle.number);
  }
  return {};
}

Result<std::vector<FunctionStatus>> ReadFunctions(GearmanClient& admin) {
  const std::vector<Row<3>> rows = GS_TRY(ReadTable<3>(admin, "status"));
  std::vector<FunctionStatus> functions;
  functions.reserve(rows.size());
  for (const auto& [name, numbers] : rows) {
    functions.push_back({name, numbers[0], numbers[1], numbers[2]});
  }
  return functions;
}

Result<FunctionStatus> ReadFunction(GearmanClient& admin, std::string_view function) {
  const std::vector<FunctionStatus> all = GS_TRY(ReadFunctions(admin));
  const auto found = std::ranges::find(all, function, &FunctionStatus::function);
  return found == all.end() ? FunctionStatus{} : *found;
}

Result<std::optional<ClassCounts>> ReadClasses(GearmanClient& admin, std::string_view function) {
  std::optional<ClassCounts> counts;
  const Result<std::vector<Row<4>>> rows = ReadTable<4>(admin, "prioritystatus");
  if (StatusOf(rows).code() == Code::kNotFound) return counts;
  for (const auto& [name, numbers] : GS_TRY(rows)) {
    if (name == function) counts = {numbers[0], numbers[1], numbers[2], numbers[3]};
  }
  return counts;
}

}  // namespace gearstalk::ctl
