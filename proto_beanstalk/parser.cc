#include "proto_beanstalk/parser.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <system_error>

namespace gearstalk::beanstalk {
namespace {

constexpr auto kNameByte = [] {
  std::array<bool, 256> table{};
  for (const char c : std::string_view("ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                       "abcdefghijklmnopqrstuvwxyz"
                                       "0123456789-+/;.$_()")) {
    table[static_cast<unsigned char>(c)] = true;
  }
  return table;
}();

bool IsNameByte(char c) { return kNameByte[static_cast<unsigned char>(c)]; }

// As isspace in the C locale.
bool IsSpace(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

std::string_view SkipBlanks(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  return text;
}

// The functions that take something off the front of a text return the rest, or kMalformed if the
// text does not begin with it. Given kMalformed, they return that.
constexpr std::string_view kMalformed;
bool Malformed(std::string_view rest) { return rest.data() == nullptr; }
bool AtEnd(std::string_view rest) { return !Malformed(rest) && rest.empty(); }

// Takes the digits off the front of `text`.
template <typename Unsigned>
std::string_view TakeDigits(std::string_view text, Unsigned& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{}) return kMalformed;
  return text.substr(static_cast<std::size_t>(end - text.data()));
}

template <typename Unsigned>
std::string_view TakeNumber(std::string_view text, Unsigned& number) {
  return TakeDigits(SkipBlanks(text), number);
}

std::string_view TakeTube(std::string_view text, std::string_view& tube) {
  text = SkipBlanks(text);
  const auto* const end = std::find_if_not(text.begin(), text.end(), IsNameByte);
  tube = text.substr(0, static_cast<std::size_t>(end - text.begin()));
  return tube.empty() ? kMalformed : text.substr(tube.size());
}

bool ParsePut(std::string_view text, Arguments& arguments) {
  text = TakeNumber(text, arguments.priority);
  text = TakeNumber(text, arguments.delay_s);
  text = TakeNumber(text, arguments.ttr_s);
  text = TakeNumber(text, arguments.body_size);
  arguments.tail = !text.empty();
  return !Malformed(text);
}

bool ParseBound(std::string_view text, std::uint32_t& bound) {
  while (!text.empty() && IsSpace(text.front())) text.remove_prefix(1);
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  std::uint64_t number = 0;
  if (Malformed(TakeDigits(text, number))) return false;
  bound = static_cast<std::uint32_t>(negative ? 0 - number : number);
  return true;
}

}  // namespace

Line NextLine(std::string_view bytes) {
  const std::string_view window = bytes.substr(0, kMaxLine);
  const std::size_t end = window.find("\r\n");
  if (end != std::string_view::npos) return {Line::Kind::kWhole, window.substr(0, end)};
  return {bytes.size() < kMaxLine ? Line::Kind::kPartial : Line::Kind::kTooLong, {}};
}

Excess SkipLine(std::string_view bytes) {
  const std::size_t end = bytes.find("\r\n");
  if (end != std::string_view::npos) return {end + 2, true};
  // A CR at the end may be half of the CRLF.
  return {bytes.ends_with('\r') ? bytes.size() - 1 : bytes.size(), false};
}

bool ParseArguments(Shape shape, std::string_view text, Arguments& arguments) {
  switch (shape) {
    case Shape::kNone:
      return text.empty();
    case Shape::kAnything:
      return true;
    case Shape::kId:
      return AtEnd(TakeNumber(text, arguments.id));
    case Shape::kIdPriority:
      text = TakeNumber(text, arguments.id);
      return AtEnd(TakeNumber(text, arguments.priority));
    case Shape::kIdPriorityDelay:
      text = TakeNumber(text, arguments.id);
      text = TakeNumber(text, arguments.priority);
      return AtEnd(TakeNumber(text, arguments.delay_s));
    case Shape::kTube:
      arguments.tube = text;
      return IsTubeName(text);
    case Shape::kTubeDelay:
      text = TakeTube(text, arguments.tube);
      return AtEnd(TakeNumber(text, arguments.delay_s));
    case Shape::kPut:
      return ParsePut(text, arguments);
    case Shape::kBound:
      return ParseBound(text, arguments.bound);
    case Shape::kTimeout:
      return !Malformed(TakeNumber(text, arguments.timeout_s)) && arguments.timeout_s <= INT32_MAX;
  }
  return false;
}

bool IsTubeName(std::string_view name) {
  return !name.empty() && name.size() <= kMaxTubeName && name.front() != '-' &&
         std::all_of(name.begin(), name.end(), IsNameByte);
}

}  // namespace gearstalk::beanstalk
