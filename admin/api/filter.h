#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "admin/api/fields.h"
#include "admin/api/json_scan.h"
#include "admin/api/users.h"
#include "broker/engine/engine.h"

namespace gearstalk::api {

// Selects jobs: those that meet all conditions.
class Filter {
 public:
  // Bodies beyond it have no JSON, in bytes.
  static constexpr std::size_t kMaxJson = 1 << 20;
  // Of a value to compare with, in bytes.
  static constexpr std::size_t kMaxValue = 4096;

  // Reads its members from the fields, which keep the first error.
  static Filter Read(Fields& fields);

  // All conditions but those on the body.
  bool MatchesRecord(const Job& job, Time now) const;
  bool ReadsBody() const { return text_.has_value() || path_.has_value(); }
  const std::optional<std::string>& text() const { return text_; }
  // The condition on the JSON of the body: see BodyMatch.
  const std::optional<JsonPath>& path() const { return path_; }
  const Json& value() const { return value_; }
  bool AsksForValue() const { return operator_ != Operator::kThere; }
  bool AsksForAnother() const { return operator_ == Operator::kNotEqual; }
  bool LooksInLists() const { return operator_ == Operator::kContains; }
  // Whether a value at the path meets the condition.
  bool Compare(const Json& value) const;

  const std::optional<std::string>& tube() const { return tube_; }
  void set_tube(std::string name) { tube_ = std::move(name); }
  bool NamesTubes() const { return tube_ || tube_match_; }
  bool Wants(JobState state) const { return states_ == 0 || (states_ & Bit(state)) != 0; }
  // The one state it asks for.
  std::optional<JobState> OnlyState() const;
  // Failed jobs alone, of the last `within`.
  void set_failed(std::optional<double> within_s) {
    failed_ = true;
    failed_within_ = within_s;
    plain_ = false;
  }
  // Leaves what others hold alone, unless states are named.
  void LeaveReserved();
  // Whether nothing but the tube and states is asked for.
  bool IsPlain() const { return plain_ && !tube_match_ && !ReadsBody(); }

  JobId from() const { return id_from_; }
  JobId to() const { return id_to_; }

 private:
  enum class Operator : std::uint8_t { kThere, kEqual, kNotEqual, kLess, kGreater, kContains };

  bool MatchesFailure(const Job& job, Time now) const;
  static unsigned Bit(JobState state) { return 1U << static_cast<unsigned>(state); }
  void ReadNumbers(Fields& fields);
  void ReadFailure(Fields& fields);
  void ReadBody(Fields& fields);

  bool plain_ = true;
  std::optional<std::string> tube_, tube_match_;
  unsigned states_ = 0;  // bits; 0: all
  JobId id_from_ = 0, id_to_ = UINT64_MAX;
  std::optional<double> min_age_, max_age_;
  std::uint64_t min_priority_ = 0, max_priority_ = UINT32_MAX;
  std::uint64_t min_reserves_ = 0, max_reserves_ = UINT32_MAX;
  std::uint64_t min_timeouts_ = 0, min_buries_ = 0;
  std::optional<std::string> unique_;
  std::optional<std::string> group_;  // empty: jobs without one
  std::optional<std::uint64_t> holder_;
  bool failed_ = false;
  std::optional<double> failed_within_;
  static constexpr unsigned kDamagedBit = 31;
  unsigned causes_ = 0;                // bits; 0: all
  std::optional<std::string> origin_;  // empty: not dead
  std::optional<std::string> text_;
  std::optional<JsonPath> path_;
  Json value_;
  Operator operator_ = Operator::kThere;
};

}  // namespace gearstalk::api
