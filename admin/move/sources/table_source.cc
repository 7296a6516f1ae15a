#include "admin/move/sources/table_source.h"

#include <fmt/format.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "broker/base/clock.h"
#include "broker/base/status.h"

namespace gearstalk::ctl {
namespace {

constexpr std::size_t kLargest = std::size_t{1} << 30;
constexpr std::size_t kStoredKey = 64;  // of which the last byte is a NUL

std::uint64_t Hash(std::uint64_t seed, std::string_view bytes) {
  return XXH3_64bits_withSeed(bytes.data(), bytes.size(), seed + 1);
}

std::string KeyIn(std::string_view function, std::string_view unique) {
  return std::string(function) + '\0' + std::string(unique);
}

}  // namespace

std::string TableSource::Pass::Fingerprint() const {
  return fmt::format("table {:016x} of {} rows", hash, rows);
}

std::string TableSource::Quoted(const std::string& name) const {
  std::string quoted(1, quote_);
  for (const char c : name) quoted.append(c == quote_ ? 2 : 1, c);
  return quoted + quote_;
}

// To the first of `TABLE_imported`, `TABLE_imported_2`, ... that is not there.
Status TableSource::Retire() {
  if (!has_tables_) return Source::Retire();
  std::string free = RetiredTable();
  for (int number = 2; Has(free); ++number) free = fmt::format("{}_{}", RetiredTable(), number);
  return Execute("ALTER TABLE " + Quoted(table_) + " RENAME TO " + Quoted(free));
}

Status TableSource::Read(Survey& survey, const Visit& visit) {
  now_ = SystemClock().Now();
  survey_ = &survey;
  Pass pass;
  Status status = Run(pass, visit);
  survey_ = nullptr;
  if (!status.ok() && !Has(table_) && Has(RetiredTable())) {
    survey.fingerprint = kRetired;
    return {};
  }
  survey.fingerprint = fingerprint_ = pass.Fingerprint();
  return status;
}

Status TableSource::ReadAgain(const Visit& visit) {
  Pass pass;
  GS_TRY(Run(pass, visit));
  if (pass.Fingerprint() == fingerprint_) return {};
  return {Code::kInUse, Name() + " changed while it was read: stop gearmand first"};
}

Status TableSource::Run(Pass& pass, const Visit& visit) {
  return ReadRows([&](const Row& row) {
    ++pass.rows;
    for (const auto& text : {row.function, row.unique, row.data}) {
      pass.hash = Hash(pass.hash, text.value_or("\xff"));
    }
    pass.hash = Hash(pass.hash,
                     fmt::format("{} {}", row.priority.value_or(-1), row.when_to_run.value_or(-1)));
    SourceJob out;
    Convert(row, pass, out);
    return visit(out);
  });
}

std::uint32_t TableSource::PriorityOf(const Row& row, const SourceJob& out) {
  switch (row.priority.value_or(-1)) {
    case 0:
      return classes_.high;
    case 1:
      return classes_.normal;
    case 2:
      return classes_.low;
    default:
      break;
  }
  AddNote({"guess", out.key,
           row.priority.has_value()
               ? fmt::format("priority {} is none of gearmand's: normal", *row.priority)
               : "no priority: normal"});
  return classes_.normal;
}

// gearmand keeps 64 bytes, of which the last is a NUL.
void TableSource::SetKey(const Row& row, Pass& pass, SourceJob& out) {
  std::string_view unique = row.unique.value_or("");
  if (unique == "-") {
    out.job.unique_is_body = true;
    return;
  }
  if (unique.size() == kStoredKey && unique.back() == '\0') unique.remove_suffix(1);
  if (unique.size() > kStoredKey) {
    out.altered = fmt::format("a unique key of {} bytes: imported without", unique.size());
    return;
  }
  const bool may_be_cut = unique.size() + 1 >= kStoredKey;
  if (may_be_cut && !pass.long_keys.insert(KeyIn(out.job.tube, unique)).second) {
    out.altered = "another row has the same unique key but for a NUL: imported without";
    return;
  }
  out.job.unique = unique;
}

void TableSource::Convert(const Row& row, Pass& pass, SourceJob& out) {
  out.key = std::string(row.unique.value_or(""));
  if (*row.refused != '\0') {
    out.refused = row.refused;
    return;
  }
  if (!row.function.has_value() || row.function->empty()) {
    out.refused = "a row without a function";
    return;
  }
  if (row.data.has_value() && row.data->size() > kLargest) {
    out.refused = "more than 1 GiB of data";
    return;
  }
  out.job.tube = *row.function;
  out.job.body = row.data.value_or("");
  out.job.priority = PriorityOf(row, out);
  SetKey(row, pass, out);
  const Time due = row.when_to_run.value_or(0) > kNever / kSecond
                       ? kNever
                       : row.when_to_run.value_or(0) * kSecond;
  if (due <= now_) return;
  out.job.state = Record::State::kDelayed;
  out.job.due = due;
  out.job.delay_s =
      static_cast<std::uint32_t>(std::min<Time>((due - now_ + kSecond - 1) / kSecond, UINT32_MAX));
}

}  // namespace gearstalk::ctl
