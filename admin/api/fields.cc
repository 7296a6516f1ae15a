#include "admin/api/fields.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "broker/base/base64.h"
#include "broker/base/split.h"

namespace gearstalk::api {

Fields Fields::OfQuery(const HttpRequest::Pairs& query) {
  Fields fields;
  fields.text_ = true;
  for (const auto& [name, value] : query) {
    if (!fields.values_.emplace(name, value).second) fields.Fail(name, "is given twice");
  }
  return fields;
}

Fields Fields::OfObject(Json object) {
  Fields fields;
  for (auto& [name, value] : object.items()) fields.values_.emplace(name, std::move(value));
  return fields;
}

void Fields::Fail(std::string_view field, std::string_view detail) {
  if (problem_.has_value()) return;
  problem_ = Problem{"bad-request", fmt::format("{}: {}", TextOf(field), TextOf(detail)),
                     std::string(field)};
}

const Json* Fields::Raw(std::string_view name) {
  const auto found = values_.find(name);
  if (found == values_.end()) return nullptr;
  read_.insert(found->first);
  return found->second.is_null() ? nullptr : &found->second;
}

std::optional<std::string> Fields::Text(std::string_view name) {
  const Json* const value = Raw(name);
  if (value == nullptr) return std::nullopt;
  if (const auto* text = value->get_ptr<const Json::string_t*>()) return *text;
  Fail(name, "expected a text");
  return std::nullopt;
}

std::optional<std::string> Fields::TakeText(std::string_view name) {
  const Json* const value = Raw(name);
  if (value == nullptr || !value->is_string()) return Text(name);
  return std::move(values_.find(name)->second.get_ref<Json::string_t&>());
}

std::optional<std::uint64_t> Fields::Integer(std::string_view name, std::uint64_t least,
                                             std::uint64_t most) {
  const Json* const value = Raw(name);
  if (value == nullptr) return std::nullopt;
  std::uint64_t number = 0;
  bool good = false;
  if (text_) {
    const auto& text = *value->get_ptr<const Json::string_t*>();
    good = ParseNumber(text, number);
  } else if (const auto* whole = value->get_ptr<const Json::number_unsigned_t*>()) {
    number = *whole;
    good = true;
  } else if (const auto* real = value->get_ptr<const Json::number_float_t*>()) {
    good = *real >= 0 && *real < 0x1p53 && *real == std::floor(*real);
    if (good) number = static_cast<std::uint64_t>(*real);
  }
  if (good && number >= least && number <= most) return number;
  Fail(name, fmt::format("expected a whole number from {} to {}", least, most));
  return std::nullopt;
}

std::optional<double> Fields::Seconds(std::string_view name) {
  constexpr double kMost = 1e10;
  const Json* const value = Raw(name);
  if (value == nullptr) return std::nullopt;
  double number = -1;
  if (text_) {
    if (!ParseNumber(*value->get_ptr<const Json::string_t*>(), number)) number = -1;
  } else if (value->is_number()) {
    number = value->get<double>();
  }
  if (number >= 0 && number <= kMost) return number;
  Fail(name, "expected a number of seconds, 0 or more");
  return std::nullopt;
}

std::optional<bool> Fields::Truth(std::string_view name) {
  const Json* const value = Raw(name);
  if (value == nullptr) return std::nullopt;
  if (text_) {
    const auto& text = *value->get_ptr<const Json::string_t*>();
    if (text == "true" || text == "1") return true;
    if (text == "false" || text == "0") return false;
  } else if (const auto* truth = value->get_ptr<const Json::boolean_t*>()) {
    return *truth;
  }
  Fail(name, "expected true or false");
  return std::nullopt;
}

std::string Fields::Word(std::string_view name, std::initializer_list<std::string_view> words) {
  const auto text = Text(name);
  if (!text) return {};
  if (std::find(words.begin(), words.end(), *text) != words.end()) return *text;
  Fail(name, fmt::format("expected one of {}", fmt::join(words, ", ")));
  return {};
}

std::vector<std::string> Fields::Words(std::string_view name,
                                       std::initializer_list<std::string_view> words) {
  std::vector<std::string> given;
  const Json* const value = Raw(name);
  if (value == nullptr) return given;
  if (const auto* text = value->get_ptr<const Json::string_t*>()) {
    const std::vector<std::string_view> parts =
        text_ ? Split(*text, ',') : std::vector{std::string_view(*text)};
    given.assign(parts.begin(), parts.end());
  } else if (value->is_array()) {
    for (const Json& each : *value) {
      const auto* word = each.get_ptr<const Json::string_t*>();
      given.push_back(word == nullptr ? "" : *word);
    }
    if (given.empty()) Fail(name, "expected one word at least");
  } else {
    Fail(name, "expected a list of words");
  }
  for (const std::string& word : given) {
    if (std::find(words.begin(), words.end(), word) == words.end()) {
      Fail(name, fmt::format("expected any of {}", fmt::join(words, ", ")));
    }
  }
  return given;
}

std::optional<std::string> Fields::Bytes(const std::string& name) {
  std::optional<std::string> bytes = TakeText(name);
  const std::optional<std::string> encoded = Text(name + "_base64");
  if (!encoded) return bytes;
  if (bytes) Fail(name + "_base64", fmt::format("cannot be given beside {}", name));
  std::optional<std::string> decoded = FromBase64(*encoded);
  if (!decoded) Fail(name + "_base64", "expected base64");
  return decoded;
}

bool Fields::Finish() {
  for (const auto& [name, value] : values_) {
    if (!read_.contains(name)) Fail(name, text_ ? "unknown parameter" : "unknown member");
  }
  return ok();
}

}  // namespace gearstalk::api
