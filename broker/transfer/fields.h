#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "broker/base/stored_number.h"

// The encoding of the transfer protocol and of marks. A message is a row of fields: a number
// (varint) that says which field, then its value: a varint, or for odd numbers a length (varint)
// and bytes. A field that is absent is zero, empty or false; a field that is not known is skipped.
//
// A struct lists its fields once, in a function `Fields(struct, visitor)` that calls
// `visitor(number, field)` for each: even numbers for integers, enums and bools, odd numbers for
// text, messages and lists of them.
namespace gearstalk::transfer {

template <typename Message>
void AppendFields(const Message& message, std::string& out);
template <typename Message>
bool ReadFields(std::string_view bytes, Message& message);

namespace detail {

class Writer {
 public:
  explicit Writer(std::string& out) : out_(out) {}

  template <typename T>
  void operator()(std::uint64_t number, const T& field) {
    if constexpr (std::is_integral_v<T> || std::is_enum_v<T>) {
      if (field == T{}) return;
      AppendVarint(out_, number);
      AppendVarint(out_, static_cast<std::uint64_t>(field));
    } else if constexpr (std::is_convertible_v<T, std::string_view>) {
      if (std::string_view(field).empty()) return;
      Text(number, field);
    } else {
      for (const auto& each : field) Element(number, each);
    }
  }

 private:
  void Text(std::uint64_t number, std::string_view text) {
    AppendVarint(out_, number);
    AppendVarint(out_, text.size());
    out_ += text;
  }
  template <typename T>
  void Element(std::uint64_t number, const T& element) {
    if constexpr (std::is_integral_v<T>) {
      std::string text;
      AppendVarint(text, static_cast<std::uint64_t>(element));
      Text(number, text);
    } else if constexpr (std::is_convertible_v<T, std::string_view>) {
      Text(number, element);
    } else {
      std::string text;
      AppendFields(element, text);
      Text(number, text);
    }
  }

  std::string& out_;
};

// Sets the one field that has the number.
class Setter {
 public:
  Setter(std::uint64_t number, std::uint64_t value, std::string_view text)
      : number_(number), value_(value), text_(text) {}

  template <typename T>
  void operator()(std::uint64_t number, T& field) {
    if (number != number_) return;
    if constexpr (std::is_integral_v<T> || std::is_enum_v<T>) {
      field = static_cast<T>(value_);
    } else if constexpr (std::is_convertible_v<T, std::string_view>) {
      field = T(text_);
    } else {
      Element(field);
    }
  }
  bool good() const { return good_; }

 private:
  template <typename T>
  void Element(std::vector<T>& list) {
    T element{};
    if constexpr (std::is_integral_v<T>) {
      std::uint64_t value = 0;
      good_ = TakeVarint(text_, value);
      element = static_cast<T>(value);
    } else if constexpr (std::is_convertible_v<T, std::string_view>) {
      element = T(text_);
    } else {
      good_ = ReadFields(text_, element);
    }
    list.push_back(std::move(element));
  }

  std::uint64_t number_, value_;
  std::string_view text_;
  bool good_ = true;
};

}  // namespace detail

template <typename Message>
void AppendFields(const Message& message, std::string& out) {
  detail::Writer writer(out);
  Fields(message, writer);
}

// False: the bytes are no message. Texts that are views lie in `bytes`.
template <typename Message>
bool ReadFields(std::string_view bytes, Message& message) {
  while (!bytes.empty()) {
    std::uint64_t number = 0, value = 0;
    if (!TakeVarint(bytes, number) || !TakeVarint(bytes, value)) return false;
    std::string_view text;
    if (number % 2 == 1) {
      if (value > bytes.size()) return false;
      text = bytes.substr(0, value);
      bytes.remove_prefix(value);
    }
    detail::Setter setter(number, value, text);
    Fields(message, setter);
    if (!setter.good()) return false;
  }
  return true;
}

}  // namespace gearstalk::transfer
