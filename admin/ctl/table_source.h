#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "admin/ctl/source.h"

namespace gearstalk::ctl {

// A row of one of gearmand's stores. Not there: NULL, or no such column.
struct Row {
  std::optional<std::string_view> unique, function, data;
  std::optional<std::int64_t> priority, when_to_run;
  const char* refused = "";  // not empty: why it cannot be a job
};

// What the stores have in common: rows become jobs, and two passes have to find the same.
class TableSource : public Source {
 public:
  explicit TableSource(const SourceOptions& options) : options_(options) {}

  Status Read(Survey& survey, const Visit& visit) final;
  Status ReadAgain(const Visit& visit) final;
  void SetClasses(const Classes& classes) final { classes_ = classes; }

 protected:
  using VisitRow = std::function<Status(const Row&)>;
  // All rows in an order that stays the same.
  virtual Status ReadRows(const VisitRow& visit) = 0;
  // Whether the table has the name that Retire gives it.
  virtual bool IsRetired() { return false; }
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
  Status Run(Pass& pass, const Visit& visit);
  void Convert(const Row& row, Pass& pass, SourceJob& out);
  void SetKey(const Row& row, Pass& pass, SourceJob& out);
  std::uint32_t PriorityOf(const Row& row, const SourceJob& out);

  const SourceOptions options_;
  Classes classes_{};
  Survey* survey_ = nullptr;
  Time now_ = 0;
  std::string fingerprint_;
};

}  // namespace gearstalk::ctl
