#pragma once

#include <charconv>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "admin/move/sources/source.h"

namespace gearstalk::ctl {

// A row of one of gearmand's stores. Not there: NULL, or no such column.
struct Row {
  std::optional<std::string_view> unique, function, data;
  std::optional<std::int64_t> priority{}, when_to_run{};
  const char* refused = "";  // not empty: why it cannot be a job
};

// The name of a table in a statement.
inline std::string Quoted(const std::string& name, char quote = '"') {
  std::string quoted(1, quote);
  for (const char c : name) quoted += c == quote ? std::string(2, c) : std::string(1, c);
  return quoted + quote;
}

// nullopt: no number.
inline std::optional<std::int64_t> NumberIn(std::optional<std::string_view> text) {
  std::int64_t value = 0;
  if (!text.has_value()) return std::nullopt;
  const auto [end, error] = std::from_chars(text->begin(), text->end(), value);
  return error == std::errc() && end == text->end() ? std::optional(value) : std::nullopt;
}

// `there`: it has a time; without a number this is none that gearmand has written.
inline void SetTime(Row& row, bool there, std::optional<std::int64_t> when_to_run) {
  row.when_to_run = when_to_run;
  if (there && !when_to_run.has_value()) row.refused = "its time is no number";
}

// The common part of all stores: makes jobs of rows, and checks that two passes find the same.
class TableSource : public Source {
 public:
  // `usual_table` is read if the options name none; empty: the store has no tables.
  explicit TableSource(const SourceOptions& options, std::string_view usual_table = {})
      : options_(options), table_(options.table.empty() ? usual_table : options.table) {}

  Status Read(Survey& survey, const Visit& visit) final;
  Status ReadAgain(const Visit& visit) final;
  void SetClasses(const Classes& classes) final { classes_ = classes; }

 protected:
  using VisitRow = std::function<Status(const Row&)>;
  // All rows in an order that stays the same.
  virtual Status ReadRows(const VisitRow& visit) = 0;
  // Whether the store has a table of this name.
  virtual bool Has(const std::string& /*table*/) const { return true; }
  const std::string& table() const { return table_; }
  // What Retire renames the table to: the first of `TABLE_imported`, `TABLE_imported_2`, ... that
  // is not there.
  std::string FreeTable() const;
  void AddNote(Note note) {
    if (survey_ != nullptr) survey_->notes.push_back(std::move(note));
  }
  const SourceOptions& options() const { return options_; }

 private:
  struct Pass {
    std::uint64_t rows = 0, hash = 0;
    std::set<std::string> long_keys;  // (function, unique) that were cut
    std::string Fingerprint() const;
  };
  std::string RetiredTable() const { return table_ + "_imported"; }
  Status Run(Pass& pass, const Visit& visit);
  void Convert(const Row& row, Pass& pass, SourceJob& out);
  void SetKey(const Row& row, Pass& pass, SourceJob& out);
  std::uint32_t PriorityOf(const Row& row, const SourceJob& out);

  const SourceOptions options_;
  const std::string table_;
  Classes classes_{};
  Survey* survey_ = nullptr;
  Time now_ = 0;
  std::string fingerprint_;
};

}  // namespace gearstalk::ctl
