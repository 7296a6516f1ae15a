#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "admin/api/json.h"
#include "admin/api/problem.h"
#include "admin/http/request.h"

namespace gearstalk::api {

// The most that a field of 32 bits holds: priorities, seconds, counts of a job.
constexpr std::uint64_t kMost32 = UINT32_MAX;
// The highest id that may be given: JSON numbers are exact up to it.
constexpr std::uint64_t kMostId = (std::uint64_t{1} << 53) - 1;

// Reads the parameters of a query, or the members of an object, by name. The first error is kept as
// a problem; later reads return defaults, and the caller checks for a problem at the end.
class Fields {
 public:
  static Fields OfQuery(const HttpRequest::Pairs& query);
  // null counts as missing.
  static Fields OfObject(Json object);

  bool Has(std::string_view name) { return Raw(name) != nullptr; }
  std::optional<std::string> Text(std::string_view name);
  // The same, without a copy: a second call finds an empty text.
  std::optional<std::string> TakeText(std::string_view name);
  std::optional<std::uint64_t> Integer(std::string_view name, std::uint64_t least,
                                       std::uint64_t most);
  std::uint64_t IntegerOr(std::string_view name, std::uint64_t least, std::uint64_t most,
                          std::uint64_t otherwise) {
    return Integer(name, least, most).value_or(otherwise);
  }
  // Not negative, with fractions.
  std::optional<double> Seconds(std::string_view name);
  std::optional<bool> Truth(std::string_view name);
  // One of `words`; "" if it is left out.
  std::string Word(std::string_view name, std::initializer_list<std::string_view> words);
  // Any of `words`: with commas in a query, a list or one of them in an object.
  std::vector<std::string> Words(std::string_view name,
                                 std::initializer_list<std::string_view> words);
  // As it is; nullptr: left out.
  const Json* Raw(std::string_view name);
  // Bytes, as text under `name` or as base64 under `name`_base64; not both.
  std::optional<std::string> Bytes(const std::string& name);

  // The value that was read; without one it fails.
  template <typename Value>
  std::optional<Value> Needed(std::string_view name, std::optional<Value> value,
                              std::string_view detail = "is needed") {
    if (!value) Fail(name, detail);
    return value;
  }

  void Fail(std::string_view field, std::string_view detail);
  bool ok() const { return !problem_.has_value(); }
  // Whether there was no error, and no member is left unread.
  bool Finish();
  const Problem& problem() const { return *problem_; }

 private:
  bool text_ = false;  // all values are texts
  std::map<std::string, Json, std::less<>> values_;
  std::set<std::string, std::less<>> read_;
  std::optional<Problem> problem_;
};

}  // namespace gearstalk::api
