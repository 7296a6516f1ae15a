#pragma once

#include <fmt/format.h>

#include <functional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "broker/base/split.h"
#include "broker/config/option.h"

// The kinds of values that options have. `field` is a function object that gives the field of a
// Config, const or not.
namespace gearstalk::kinds {

inline constexpr std::uint64_t kAnySize = std::uint64_t{1} << 50;

inline std::vector<std::string> OneUnlessEmpty(const std::string& text) {
  return text.empty() ? std::vector<std::string>{} : std::vector{text};
}

template <typename Field>
auto Copy(Field field) {
  return [=](const Config& from, Config& to) { field(to) = field(from); };
}

// `per` is how much of the field a unit is: kSecond for a Time in seconds.
template <typename Field>
Kind Number(Field field, std::string_view unit, std::uint64_t least, std::uint64_t most,
            std::int64_t per = 1) {
  std::string shape(unit);
  for (char& c : shape) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  std::string range = fmt::format("{} to {}", least, most);
  return {.shape = std::move(shape),
          .unit = std::string(unit),
          .range = range,
          .set = [=](Config& config, std::string_view text) -> Status {
            std::uint64_t number = 0;
            if (!ParseNumber(text, number) || number < least || number > most) {
              return Expected(fmt::format("a number from {}", range));
            }
            auto& target = field(config);
            target = static_cast<std::remove_reference_t<decltype(target)>>(
                number * static_cast<std::uint64_t>(per));
            return {};
          },
          .get = [=](const Config& config) -> std::vector<std::string> {
            const auto number =
                static_cast<std::uint64_t>(field(config)) / static_cast<std::uint64_t>(per);
            if (number < least) return {};
            return {fmt::format("{}", number)};
          },
          .copy = Copy(field)};
}

template <typename Field>
Kind Seconds(Field field, std::uint64_t least, std::uint64_t most) {
  return Number(field, "seconds", least, most, kSecond);
}

template <typename Field>
Kind Text(Field field, std::string_view shape) {
  return {.shape = std::string(shape),
          .set = [=](Config& config, std::string_view text) -> Status {
            field(config) = text;
            return {};
          },
          .get = [=](const Config& config) { return OneUnlessEmpty(field(config)); },
          .copy = Copy(field)};
}

template <typename Field>
using ValueOf = std::remove_cvref_t<std::invoke_result_t<Field, Config&>>;

// One of some words, each with the value it stands for.
template <typename Field>
Kind Choice(Field field, std::vector<std::pair<std::string_view, ValueOf<Field>>> words) {
  std::string shape, names;
  for (std::size_t i = 0; i < words.size(); ++i) {
    shape += i == 0 ? "" : "|";
    shape += words[i].first;
    names += i == 0 ? "" : i + 1 == words.size() ? " or " : ", ";
    names += words[i].first;
  }
  return {.shape = std::move(shape),
          .set = [=](Config& config, std::string_view text) -> Status {
            for (const auto& [word, value] : words) {
              if (word != text) continue;
              field(config) = value;
              return {};
            }
            return Expected(names);
          },
          .get =
              [=](const Config& config) {
                std::vector<std::string> text;
                for (const auto& [word, value] : words) {
                  if (value == field(config)) text.emplace_back(word);
                }
                return text;
              },
          .copy = Copy(field)};
}

// Any number of values. `separator` parts them in an environment variable.
template <typename Field>
Kind List(Field field, std::string_view shape, char separator) {
  return {.shape = std::string(shape),
          .set = [=](Config& config, std::string_view text) -> Status {
            field(config).emplace_back(text);
            return {};
          },
          .get = [=](const Config& config) { return field(config); },
          .copy = Copy(field),
          .clear = [=](Config& config) { field(config).clear(); },
          .separator = separator};
}

template <typename Field>
Kind Truth(Field field) {
  return Choice(field, {{"true", true}, {"false", false}});
}

// The same kind with another `set`.
inline Kind Checked(Kind kind, std::function<Status(Config&, std::string_view)> set) {
  kind.set = std::move(set);
  return kind;
}

}  // namespace gearstalk::kinds
