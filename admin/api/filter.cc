#include "admin/api/filter.h"

#include <string.h>

#include <algorithm>
#include <array>
#include <bit>

#include "admin/api/objects.h"
#include "broker/engine/groups.h"
#include "broker/policy/body_key.h"

namespace gearstalk::api {
namespace {

constexpr std::array kStates = {JobState::kReady, JobState::kReserved, JobState::kDelayed,
                                JobState::kBuried};

// A text holds a JSON literal, or is a word by itself.
Json ValueOf(const Json& given) {
  const auto* text = given.get_ptr<const Json::string_t*>();
  if (text == nullptr) return given;
  return ParseJson(*text).value_or(given);
}

// In linear time, unlike std::string::find.
bool Holds(const std::string& text, const std::string& part) {
  return memmem(text.data(), text.size(), part.data(), part.size()) != nullptr;
}

std::uint64_t HolderOf(const Job& job) {
  const auto* const session = dynamic_cast<const Session*>(job.holder());
  return session == nullptr || session->Client() == nullptr ? 0 : session->Client()->id;
}

}  // namespace

Filter Filter::Read(Fields& fields) {
  Filter filter;
  filter.tube_ = fields.Bytes("tube");
  filter.tube_match_ = fields.Text("tube_match");
  if (filter.tube_ && filter.tube_match_) fields.Fail("tube_match", "cannot be given beside tube");
  for (const std::string& word :
       fields.Words("state", {"ready", "reserved", "delayed", "buried"})) {
    for (const JobState state : kStates) {
      if (NameOf(state) == word) filter.states_ |= Bit(state);
    }
  }
  filter.ReadNumbers(fields);
  filter.ReadFailure(fields);
  filter.ReadBody(fields);
  return filter;
}

void Filter::ReadNumbers(Fields& fields) {
  const auto read = [&](std::string_view name, std::uint64_t most, std::uint64_t& number) {
    if (const auto given = fields.Integer(name, 0, most)) {
      number = *given;
      plain_ = false;
    }
  };
  read("id_from", kMostId, id_from_);
  read("id_to", kMostId, id_to_);
  read("min_priority", kMost32, min_priority_);
  read("max_priority", kMost32, max_priority_);
  read("min_reserves", kMost32, min_reserves_);
  read("max_reserves", kMost32, max_reserves_);
  read("min_timeouts", kMost32, min_timeouts_);
  read("min_buries", kMost32, min_buries_);
  min_age_ = fields.Seconds("min_age_seconds");
  max_age_ = fields.Seconds("max_age_seconds");
  unique_ = fields.Bytes("unique");
  holder_ = fields.Integer("holder", 1, kMostId);
  if (const auto group = fields.Bytes("group")) {
    std::string hash;
    group_ = ShortName(*group, hash);
  }
  plain_ = plain_ && !min_age_ && !max_age_ && !unique_ && !holder_ && !group_;
}

void Filter::ReadFailure(Fields& fields) {
  for (const std::string& word :
       fields.Words("cause", {"none", "failed", "exception", "timeout", "lost", "released",
                              "buried", "expired", "damaged"})) {
    if (word == kDamagedText) causes_ |= 1U << kDamagedBit;
    for (unsigned cause = 0; cause <= static_cast<unsigned>(Cause::kExpired); ++cause) {
      const std::string_view name = NameOf(static_cast<Cause>(cause));
      if ((name.empty() ? "none" : name) == word) causes_ |= 1U << cause;
    }
  }
  origin_ = fields.Bytes("origin");
  failed_within_ = fields.Seconds("failed_within_seconds");
  plain_ = plain_ && causes_ == 0 && !origin_ && !failed_within_;
}

void Filter::ReadBody(Fields& fields) {
  text_ = fields.Bytes("text");
  const auto path = fields.Text("json_path");
  const std::string word = fields.Word("json_op", {"eq", "ne", "lt", "gt", "contains"});
  const Json* const value = fields.Raw("json_value");
  if (!path) {
    if (value != nullptr) fields.Fail("json_value", "needs json_path");
    if (!word.empty()) fields.Fail("json_op", "needs json_path");
    return;
  }
  path_ = JsonPath::Parse(*path);
  if (!path_) fields.Fail("json_path", "expected a path such as $.a.b[0]");
  if (value == nullptr) {
    if (!word.empty()) fields.Fail("json_op", "needs json_value");
    return;
  }
  if (Dump(*value).size() > kMaxValue) fields.Fail("json_value", "expected at most 4 KB");
  value_ = ValueOf(*value);
  operator_ = word == "ne"         ? Operator::kNotEqual
              : word == "lt"       ? Operator::kLess
              : word == "gt"       ? Operator::kGreater
              : word == "contains" ? Operator::kContains
                                   : Operator::kEqual;
}

bool Filter::MatchesFailure(const Job& job, Time now) const {
  if ((failed_ || failed_within_) && !Failed(job)) return false;
  const JobExtra& extra = job.extra();
  const unsigned cause = IsDamaged(job) ? kDamagedBit : static_cast<unsigned>(extra.cause);
  if (causes_ != 0 && (causes_ >> cause & 1U) == 0) return false;
  if (origin_ && job.origin() != *origin_) return false;
  return !failed_within_ || (extra.ended != 0 && Seconds(now - extra.ended) <= *failed_within_);
}

bool Filter::MatchesRecord(const Job& job, Time now) const {
  if (job.id() < id_from_ || job.id() > id_to_ || !Wants(job.state())) return false;
  if (!MatchesFailure(job, now)) return false;
  if (tube_ && job.tube().name() != *tube_) return false;
  if (tube_match_ && !MatchesPattern(*tube_match_, job.tube().name())) return false;
  if (job.priority < min_priority_ || job.priority > max_priority_) return false;
  if (job.reserves < min_reserves_ || job.reserves > max_reserves_) return false;
  const double age = Seconds(now - job.created);
  if ((min_age_ && age < *min_age_) || (max_age_ && age > *max_age_)) return false;
  const JobExtra& extra = job.extra();
  if (extra.timeouts < min_timeouts_ || extra.buries < min_buries_) return false;
  if (unique_ && job.unique() != *unique_) return false;
  if (group_ && GroupNameOf(job) != *group_) return false;
  return !holder_ || HolderOf(job) == *holder_;
}

bool Filter::Compare(const Json& value) const {
  const bool comparable =
      (value.is_number() && value_.is_number()) || (value.is_string() && value_.is_string());
  switch (operator_) {
    case Operator::kThere:
      return true;
    case Operator::kEqual:
      return value == value_;
    case Operator::kNotEqual:
      return value != value_;
    case Operator::kLess:
      return comparable && value < value_;
    case Operator::kGreater:
      return comparable && value > value_;
    case Operator::kContains:
      if (value.is_array()) return std::find(value.begin(), value.end(), value_) != value.end();
      return value.is_string() &&
             Holds(value.get_ref<const std::string&>(),
                   value_.is_string() ? value_.get_ref<const std::string&>() : Dump(value_));
  }
  return false;
}

std::optional<JobState> Filter::OnlyState() const {
  if (std::popcount(states_) != 1) return std::nullopt;
  return *std::find_if(kStates.begin(), kStates.end(), [&](JobState s) { return Wants(s); });
}

void Filter::LeaveReserved() {
  if (states_ != 0) return;
  states_ = Bit(JobState::kReady) | Bit(JobState::kDelayed) | Bit(JobState::kBuried);
}

}  // namespace gearstalk::api
