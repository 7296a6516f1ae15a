#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "admin/api/filter.h"
#include "admin/api/json_scan.h"

namespace gearstalk::api {

// Checks a job's body against a filter, in slices.
class BodyMatch {
 public:
  explicit BodyMatch(const Filter& filter) : filter_(filter) {}
  BodyMatch(const BodyMatch&) = delete;
  BodyMatch& operator=(const BodyMatch&) = delete;

  enum class Found : std::uint8_t { kYes, kNo, kNotYet };
  // Reads at most about `budget` bytes and subtracts them from it. A job other than that of the
  // last call starts again.
  Found Advance(const Job& job, std::uint64_t& budget);

 private:
  Found Search(std::string_view body, std::uint64_t& budget);
  Found Scan(std::string_view body, std::uint64_t& budget);
  bool Compare(std::string_view value) const;
  void OnElement(std::string_view element);

  const Filter& filter_;
  JobId job_ = 0;
  std::size_t searched_ = 0;  // bytes that do not hold the text
  bool has_text_ = false;
  std::optional<JsonScan> scan_;
  std::size_t scanned_ = 0;
  std::uint64_t elements_ = 0;  // compared in this slice
  std::uint64_t tells_ = 0;
  bool contained_ = false;
  const std::function<void(std::string_view)> on_element_ = [this](std::string_view element) {
    OnElement(element);
  };
};

}  // namespace gearstalk::api
