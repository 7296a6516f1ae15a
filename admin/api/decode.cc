// PHP's serialize(): bytes are taken apart, nothing is ever instantiated.
// JSON and msgpack: the readers are nlohmann's, which call what builds the value here.

#include "admin/api/decode.h"

#include <absl/strings/escaping.h>
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <vector>

#include "broker/base/base64.h"
#include "broker/base/split.h"

namespace gearstalk::api {
namespace {

constexpr std::uint64_t kExact = std::uint64_t{1} << 53;

// Numbers beyond 2^53 are texts.
Json NumberOf(std::uint64_t number) {
  return number > kExact ? Json(fmt::format("{}", number)) : Json(number);
}

Json NumberOf(std::int64_t number) {
  if (number >= 0) return NumberOf(static_cast<std::uint64_t>(number));
  return number < -static_cast<std::int64_t>(kExact) ? Json(fmt::format("{}", number))
                                                     : Json(number);
}

// Text as it is, other bytes as {"__base64": ...}.
Json BytesValue(std::string_view bytes) {
  return IsUtf8(bytes) ? Json(std::string(bytes)) : Json{{"__base64", ToBase64(bytes)}};
}

Decoded Undecodable(std::string_view as, std::string error) {
  return {std::string(as), nullptr, std::move(error)};
}

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
    if (!ParseNumber(text, number)) Fail("expected a number");
    return number;
  }

  // SIZE:"BYTES", or with other brackets; `what` it is.
  std::string_view Sized(char open, char close, std::string_view what) {
    const auto size = Whole<std::uint32_t>(':');
    if (!Skip(open)) return {};
    if (size >= rest_.size() || rest_[size] != close) {
      Fail(fmt::format("{} is cut off", what));
      return {};
    }
    const std::string_view bytes = rest_.substr(0, size);
    rest_.remove_prefix(size + 1);
    return bytes;
  }

  std::string_view Quoted() { return Sized('"', '"', "a text"); }

  // The letter before a colon.
  char Kind() {
    const char kind = rest_.empty() ? '\0' : rest_.front();
    rest_.remove_prefix(rest_.empty() ? 0 : 1);
    return Skip(':') ? kind : '\0';
  }

  Json Real() {
    const std::string_view text = Until(';');
    if (text == "INF" || text == "-INF" || text == "NAN") return std::string(text);
    double number = 0;
    if (!ParseNumber(text, number)) Fail("expected a number");
    return number;
  }

  // The names of private and protected members are "\0Class\0name" and "\0*\0name".
  static std::string MemberName(std::string_view key) {
    const std::size_t second = key.starts_with('\0') ? key.find('\0', 1) : std::string_view::npos;
    return TextOf(second == std::string_view::npos ? key : key.substr(second + 1));
  }

  std::string Key() {
    const char kind = Kind();
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
    object["__data"] = BytesValue(Sized('{', '}', "an object"));
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
    switch (Kind()) {
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

// Builds a value from events and stops at the bounds.
class Builder final : public nlohmann::json_sax<Json> {
 public:
  Json Take() { return std::move(root_); }
  const std::string& error() const { return error_; }

  bool null() override { return Add(nullptr); }
  bool boolean(bool value) override { return Add(value); }
  bool number_integer(number_integer_t value) override {
    return Add(NumberOf(static_cast<std::int64_t>(value)));
  }
  bool number_unsigned(number_unsigned_t value) override {
    return Add(NumberOf(static_cast<std::uint64_t>(value)));
  }
  bool number_float(number_float_t value, const string_t& text) override {
    // A whole number that no integer holds.
    const bool whole = !text.empty() && text.find_first_not_of("-0123456789") == std::string::npos;
    return Add(whole ? Json(text) : Json(value));
  }
  bool string(string_t& value) override { return Add(BytesValue(value)); }
  bool binary(binary_t& value) override {
    Json object = {
        {"__base64", ToBase64({reinterpret_cast<const char*>(value.data()), value.size()})}};
    if (value.has_subtype()) object["__ext"] = static_cast<std::int64_t>(value.subtype());
    return Add(std::move(object));
  }
  bool start_object(std::size_t) override { return Open(Json::object()); }
  bool key(string_t& value) override {
    key_ = TextOf(value);
    return true;
  }
  bool end_object() override { return Close(); }
  bool start_array(std::size_t) override { return Open(Json::array()); }
  bool end_array() override { return Close(); }
  bool parse_error(std::size_t position, const std::string&,
                   const nlohmann::detail::exception&) override {
    if (error_.empty()) error_ = fmt::format("it is malformed near byte {}", position);
    return false;
  }

 private:
  bool Add(Json value) { return Place(std::move(value)) != nullptr; }

  Json* Place(Json value) {
    if (++nodes_ > kMaxNodes) {
      error_ = fmt::format("it has more than {} values", kMaxNodes);
      return nullptr;
    }
    if (open_.empty()) {
      root_ = std::move(value);
      return &root_;
    }
    Json& parent = *open_.back();
    if (parent.is_array()) {
      parent.push_back(std::move(value));
      return &parent.back();
    }
    Json& member = parent[key_];
    member = std::move(value);
    return &member;
  }

  bool Open(Json empty) {
    if (open_.size() >= static_cast<std::size_t>(kMaxDepth)) {
      error_ = fmt::format("it is deeper than {}", kMaxDepth);
      return false;
    }
    Json* const placed = Place(std::move(empty));
    if (placed != nullptr) open_.push_back(placed);
    return placed != nullptr;
  }

  bool Close() {
    open_.pop_back();
    return true;
  }

  Json root_;
  std::vector<Json*> open_;  // each grows only while it is the innermost one
  std::string key_;
  std::string error_;
  int nodes_ = 0;
};

Decoded Build(std::string_view bytes, nlohmann::detail::input_format_t format,
              std::string_view as) {
  Builder builder;
  if (bytes.empty()) return Undecodable(as, "it is empty");
  const bool read = Json::sax_parse(bytes.begin(), bytes.end(), &builder, format, true);
  if (!read) {
    return Undecodable(as, builder.error().empty() ? "it is malformed" : builder.error());
  }
  return {std::string(as), builder.Take(), ""};
}

Decoded DecodePhp(std::string_view bytes) { return PhpReader(bytes).Read(); }

Decoded DecodeJson(std::string_view bytes) {
  return Build(bytes, nlohmann::detail::input_format_t::json, "json");
}

Decoded DecodeMsgpack(std::string_view bytes) {
  return Build(bytes, nlohmann::detail::input_format_t::msgpack, "msgpack");
}

constexpr std::size_t kLeastBase64 = 16;  // bytes, for `auto`

// Without control bytes but tab, LF and CR.
bool IsText(std::string_view bytes) {
  const bool clean = std::none_of(bytes.begin(), bytes.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return (byte < 0x20 && c != '\t' && c != '\n' && c != '\r') || byte == 0x7F;
  });
  return clean && IsUtf8(bytes);
}

Decoded DecodeText(std::string_view bytes) {
  if (!IsText(bytes)) return Undecodable("text", "it is not UTF-8, or has control bytes");
  return {"text", std::string(bytes), ""};
}

std::string HexOf(std::string_view bytes) {
  return absl::BytesToHexString({bytes.data(), bytes.size()});
}

// `readable`: refuses base64 of other bytes than a known format, because many words and numbers are
// valid base64, too.
Decoded DecodeBase64(std::string_view bytes, bool readable) {
  std::string compact;
  std::copy_if(bytes.begin(), bytes.end(), std::back_inserter(compact),
               [](char c) { return c != '\n' && c != '\r'; });
  const std::optional<std::string> decoded = FromBase64(compact);
  if (!decoded || decoded->empty()) return Undecodable("base64", "it is not base64");
  for (const auto decode : {DecodeJson, DecodePhp, DecodeMsgpack, DecodeText}) {
    Decoded inner = decode(*decoded);
    if (!inner.ok()) continue;
    return {"base64", std::move(inner.value), ""};
  }
  if (readable) return Undecodable("base64", "it holds nothing readable");
  return {"base64", HexOf(*decoded), ""};
}

Decoded DecodeHex(std::string_view bytes) { return {"hex", HexOf(bytes), ""}; }

Decoded Detect(std::string_view bytes) {
  Decoded found = DecodeJson(bytes);
  if (!found.ok()) found = DecodePhp(bytes);
  if (!found.ok()) {
    found = DecodeMsgpack(bytes);
    // In msgpack any byte is a number, so a number alone proves nothing.
    if (found.ok() && !found.value.is_structured()) found.error = "not a map or an array";
  }
  if (!found.ok() && bytes.size() >= kLeastBase64) found = DecodeBase64(bytes, true);
  if (!found.ok()) found = DecodeText(bytes);
  if (!found.ok()) found = DecodeHex(bytes);
  return found;
}

}  // namespace

Decoded Decode(std::string_view bytes, std::string_view as) {
  if (bytes.size() > kMaxDecoded) return Undecodable(as, "it is larger than 256 KiB");
  if (as == "text") return DecodeText(bytes);
  if (as == "json") return DecodeJson(bytes);
  if (as == "php") return DecodePhp(bytes);
  if (as == "msgpack") return DecodeMsgpack(bytes);
  if (as == "base64") return DecodeBase64(bytes, false);
  if (as == "hex") return DecodeHex(bytes);
  return Detect(bytes);
}

}  // namespace gearstalk::api
