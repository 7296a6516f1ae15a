// JSON and msgpack: the readers are nlohmann's, which call what builds the value here.

#include <fmt/format.h>

#include <string>
#include <vector>

#include "admin/api/decode.h"
#include "broker/base/base64.h"

namespace gearstalk::api {
namespace {

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

}  // namespace

Decoded DecodeJson(std::string_view bytes) {
  return Build(bytes, nlohmann::detail::input_format_t::json, "json");
}

Decoded DecodeMsgpack(std::string_view bytes) {
  return Build(bytes, nlohmann::detail::input_format_t::msgpack, "msgpack");
}

}  // namespace gearstalk::api
