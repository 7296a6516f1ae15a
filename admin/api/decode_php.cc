// PHP's serialize(): bytes are taken apart, nothing is ever instantiated.

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <limits>

#include "admin/api/decode.h"

namespace gearstalk::api {
namespace {

class PhpReader {
 public:
  explicit PhpReader(std::string_view bytes) : rest_(bytes), size_(bytes.size()) {}

  Decoded Read() {
    Json value = Value(0);
    if (error_.empty() && !rest_.empty()) Fail("bytes follow the value");
    if (!error_.empty()) return Undecodable("php", error_);
    return {"php", std::move(value), ""};
  }

 private:
  void Fail(std::string_view what) {
    if (error_.empty()) error_ = fmt::format("{} at byte {}", what, size_ - rest_.size());
    rest_ = {};
  }

  bool Skip(char c) {
    if (!rest_.starts_with(c)) {
      Fail(fmt::format("expected '{}'", c));
      return false;
    }
    rest_.remove_prefix(1);
    return true;
  }

  std::string_view Until(char end) {
    const std::size_t at = rest_.find(end);
    if (at == std::string_view::npos) {
      Fail(fmt::format("expected '{}'", end));
      return {};
    }
    const std::string_view part = rest_.substr(0, at);
    rest_.remove_prefix(at + 1);
    return part;
  }

  template <typename Number>
  Number Whole(char end) {
    const std::string_view text = Until(end);
    Number number = 0;
    const auto [stop, error] = std::from_chars(text.begin(), text.end(), number);
    if (error != std::errc() || stop != text.end()) Fail("expected a number");
    return number;
  }

  // SIZE:"BYTES"
  std::string_view Quoted() {
    const auto size = Whole<std::uint32_t>(':');
    if (!Skip('"')) return {};
    if (size >= rest_.size() || rest_[size] != '"') {
      Fail("a text is cut off");
      return {};
    }
    const std::string_view text = rest_.substr(0, size);
    rest_.remove_prefix(size + 1);
    return text;
  }

  Json Real() {
    const std::string_view text = Until(';');
    if (text == "INF" || text == "-INF" || text == "NAN") return std::string(text);
    double number = 0;
    const auto [stop, error] = std::from_chars(text.begin(), text.end(), number);
    if (error != std::errc() || stop != text.end()) Fail("expected a number");
    return number;
  }

  // The names of private and protected members are "\0Class\0name" and "\0*\0name".
  static std::string MemberName(std::string_view key) {
    const std::size_t second = key.starts_with('\0') ? key.find('\0', 1) : std::string_view::npos;
    return TextOf(second == std::string_view::npos ? key : key.substr(second + 1));
  }

  std::string Key() {
    const char kind = rest_.empty() ? '\0' : rest_.front();
    rest_.remove_prefix(rest_.empty() ? 0 : 1);
    if (!Skip(':')) return {};
    if (kind == 'i') return fmt::format("{}", Whole<std::int64_t>(';'));
    if (kind != 's') {
      Fail("expected a key");
      return {};
    }
    std::string key = MemberName(Quoted());
    Skip(';');
    return key;
  }

  // COUNT:{KEY VALUE ...}; keys 0, 1, 2 ... make a list.
  Json Members(int depth, Json object, bool may_be_list) {
    const auto count = Whole<std::uint32_t>(':');
    if (!Skip('{')) return {};
    bool list = may_be_list;
    for (std::uint32_t i = 0; i < count && error_.empty(); ++i) {
      const bool number = rest_.starts_with("i:");
      std::string key = Key();
      list = list && number && key == std::to_string(i);
      object[key] = Value(depth + 1);
    }
    Skip('}');
    if (!list || count == 0) return count == 0 && may_be_list ? Json::array() : object;
    Json items = Json::array();
    for (auto& [key, value] : object.items()) items.push_back(std::move(value));
    return items;
  }

  Json Custom() {
    Json object = {{"__class", TextOf(Quoted())}};
    Skip(':');
    const auto size = Whole<std::uint32_t>(':');
    if (!Skip('{')) return {};
    if (size >= rest_.size() || rest_[size] != '}') {
      Fail("an object is cut off");
      return {};
    }
    object["__data"] = BytesValue(rest_.substr(0, size));
    rest_.remove_prefix(size + 1);
    return object;
  }

  Json Value(int depth) {
    if (depth > kMaxDepth || ++nodes_ > kMaxNodes) {
      Fail("it is too deep or has too many values");
      return {};
    }
    if (rest_.starts_with("N;")) {
      rest_.remove_prefix(2);
      return {};
    }
    const char kind = rest_.empty() ? '\0' : rest_.front();
    rest_.remove_prefix(rest_.empty() ? 0 : 1);
    if (!Skip(':')) return {};
    switch (kind) {
      case 'b': {
        const auto truth = Whole<std::uint32_t>(';');
        if (truth > 1) Fail("expected 0 or 1");
        return truth == 1;
      }
      case 'i':
        return NumberOf(Whole<std::int64_t>(';'));
      case 'd':
        return Real();
      case 's': {
        Json text = BytesValue(Quoted());
        Skip(';');
        return text;
      }
      case 'a':
        return Members(depth, Json::object(), true);
      case 'O': {
        Json object = {{"__class", TextOf(Quoted())}};
        Skip(':');
        return Members(depth, std::move(object), false);
      }
      case 'E': {
        Json name = {{"__enum", TextOf(Quoted())}};
        Skip(';');
        return name;
      }
      case 'C':
        return Custom();
      case 'r':
      case 'R':
        return Json{{"__reference", Whole<std::uint32_t>(';')}};
      default:
        Fail("unknown type");
        return {};
    }
  }

  std::string_view rest_;
  const std::size_t size_;
  std::string error_;
  int nodes_ = 0;
};

}  // namespace

Decoded DecodePhp(std::string_view bytes) { return PhpReader(bytes).Read(); }

}  // namespace gearstalk::api
