#include "broker/policy/body_key.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace gearstalk {
namespace {

constexpr std::size_t kLongestKey = 64;  // bytes, Gearman's limit

// "~1" is "/", "~0" is "~".
std::string Unescaped(std::string_view part) {
  std::string text;
  for (std::size_t i = 0; i < part.size(); ++i) {
    const bool escape = part[i] == '~' && i + 1 < part.size();
    text += escape ? (part[++i] == '1' ? '/' : '~') : part[i];
  }
  return text;
}

std::vector<std::string> PartsOf(std::string_view pointer) {
  std::vector<std::string> parts;
  while (!pointer.empty()) {
    pointer.remove_prefix(1);
    const std::size_t end = std::min(pointer.find('/'), pointer.size());
    parts.push_back(Unescaped(pointer.substr(0, end)));
    pointer.remove_prefix(end);
  }
  return parts;
}

// Numbers have the widest types; one that does not fit ends the parsing.
using Json = nlohmann::basic_json<std::map, std::vector, std::string, bool, std::int64_t,
                                  std::uint64_t, long double>;

// nlohmann's error for a number that does not fit.
constexpr int kNumberTooGreat = 406;

// Follows the pointer while the parser goes through the text; a handler that returns false ends the
// parsing.
class Finder : public nlohmann::json_sax<Json> {
 public:
  explicit Finder(std::vector<std::string> parts) : parts_(std::move(parts)) {}

  const std::string& found() const { return found_; }

  bool null() override { return Scalar({}); }
  bool boolean(bool value) override { return Scalar(value ? "true" : "false"); }
  // 0 comes here only as -0.
  bool number_integer(number_integer_t value) override {
    return Scalar(value == 0 ? "-0" : fmt::format("{}", value));
  }
  bool number_unsigned(number_unsigned_t value) override {
    return Scalar(fmt::format("{}", value));
  }
  bool number_float(number_float_t /*value*/, const string_t& text) override {
    return Scalar(text);
  }
  bool string(string_t& text) override { return Scalar(text); }
  bool binary(binary_t& /*bytes*/) override { return Scalar({}); }

  bool start_object(std::size_t) override { return Open(false); }
  bool key(string_t& name) override {
    Level& level = levels_.back();
    level.fits = level.on_path && parts_[levels_.size() - 1] == name;
    return true;
  }
  bool end_object() override { return Close(); }

  bool start_array(std::size_t) override { return Open(true); }
  bool end_array() override { return Close(); }

  bool parse_error(std::size_t, const std::string& token,
                   const nlohmann::detail::exception& error) override {
    return error.id == kNumberTooGreat && Scalar(token);
  }

 private:
  struct Level {
    bool array = false;
    bool on_path = false;        // the pointer leads into this container
    bool fits = false;           // and to the value that comes
    std::size_t next_index = 0;  // of an array
  };

  // Whether the pointer leads to or through the value that begins now.
  bool Fits() {
    if (levels_.empty()) return true;
    Level& level = levels_.back();
    if (level.array) {
      level.fits =
          level.on_path && parts_[levels_.size() - 1] == fmt::format("{}", level.next_index++);
    }
    return level.fits;
  }

  bool Scalar(std::string_view text) {
    if (!Fits()) return true;
    if (levels_.size() == parts_.size()) found_ = text;
    return false;
  }

  bool Open(bool array) {
    const bool fits = Fits();
    if (fits && levels_.size() == parts_.size()) return false;  // a container is no key
    levels_.push_back({.array = array, .on_path = fits});
    return true;
  }

  // The container that the pointer leads into ends without the value.
  bool Close() {
    const bool on_path = levels_.back().on_path;
    levels_.pop_back();
    return !on_path;
  }

  const std::vector<std::string> parts_;
  std::vector<Level> levels_;
  std::string found_;
};

}  // namespace

std::string BodyKey(std::string_view body, std::string_view pointer) {
  Finder finder(PartsOf(pointer));
  Json::sax_parse(body.begin(), body.end(), &finder);
  const std::string& key = finder.found();
  // A NUL would end it in Gearman's packets.
  const bool fits = key.size() <= kLongestKey && key.find('\0') == std::string::npos;
  if (fits) return key;
  const XXH128_hash_t hash = XXH3_128bits(key.data(), key.size());
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

}  // namespace gearstalk
