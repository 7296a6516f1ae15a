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

// nullopt: no number.
inline std::optional<std::int64_t> NumberIn(std::optional<std::string_view> text) {
  std::int64_t value = 0;
  if (!text.has_value()) return std::nullopt;
  const auto [end, error] = std::from_chars(text->begin(), text->end(), value);
  return error == std::errc() && end == text->end() ? std::optional(value) : std::nullopt;
}

// A row of gearmand's columns: `text` and `number` give that of a name.
Row RowOf(auto&& text, auto&& number) {
  Row row{.unique = text("unique_key"),
          .function = text("function_name"),
          .data = text("data"),
          .priority = number("priority"),
          .when_to_run = number("when_to_run")};
  // A time that is none that gearmand has written.
  if (text("when_to_run") && !row.when_to_run) row.refused = "its time is no number";
  return row;
}

// The common part of all stores: makes jobs of rows, and checks that two passes find the same.
class TableSource : public Source {
 public:
  // `usual_table` is read if the options name none; empty: the store has no tables. `quote` stands
  // around names in its statements.
  explicit TableSource(const SourceOptions& options, std::string_view usual_table = {},
                       char quote = '"')
      : options_(options),
        table_(options.table.empty() ? usual_table : options.table),
        has_tables_(!usual_table.empty()),
        quote_(quote) {}

  Status Read(Survey& survey, const Visit& visit) final;
  Status ReadAgain(const Visit& visit) final;
  void SetClasses(const Classes& classes) final { classes_ = classes; }
  bool CanRetire() const final { return has_tables_; }
  // Renames the table.
  Status Retire() override;

 protected:
  using VisitRow = std::function<Status(const Row&)>;
  // All rows in an order that stays the same.
  virtual Status ReadRows(const VisitRow& visit) = 0;
  // Runs a statement without a result; of a store without tables it fails.
  virtual Status Execute(const std::string& /*statement*/) { return {Code::kInvalid, "no tables"}; }
  const std::string& table() const { return table_; }
  std::string Quoted(const std::string& name) const;
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
  // Whether the store has a table of this name.
  bool Has(const std::string& table) {
    return Execute("SELECT 1 FROM " + Quoted(table) + " LIMIT 0").ok();
  }
  std::string RetiredTable() const { return table_ + "_imported"; }
  Status Run(Pass& pass, const Visit& visit);
  void Convert(const Row& row, Pass& pass, SourceJob& out);
  void SetKey(const Row& row, Pass& pass, SourceJob& out);
  std::uint32_t PriorityOf(const Row& row, const SourceJob& out);

  const SourceOptions options_;
  const std::string table_;
  const bool has_tables_;
  const char quote_;
  Classes classes_{};
  Survey* survey_ = nullptr;
  Time now_ = 0;
  std::string fingerprint_;
};

}  // namespace gearstalk::ctl
