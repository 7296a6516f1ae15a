#include "admin/api/json.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "admin/http/request.h"
#include "broker/base/base64.h"

namespace gearstalk::api {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

bool Awkward(std::string_view name) {
  const bool odd = std::any_of(name.begin(), name.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte < 0x20 || byte == 0x7F || c == '/' || c == '%' || c == '\\';
  });
  return odd || name.empty() || name.starts_with('~') || name == "." || name == ".." ||
         !IsUtf8(name);
}

}  // namespace

std::string TextOf(std::string_view bytes) {
  if (IsUtf8(bytes)) return std::string(bytes);
  std::string text;
  while (!bytes.empty()) {
    const std::size_t length = CharacterSize(bytes);
    text += length == 0 ? kReplacement : bytes.substr(0, length);
    bytes.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return text;
}

std::string Dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::optional<Json> ParseJson(std::string_view text, std::size_t most) {
  bool large = false;
  std::size_t events = 0;
  const auto watch = [&](int depth, Json::parse_event_t event, Json&) {
    const bool begins = event == Json::parse_event_t::value ||
                        event == Json::parse_event_t::object_start ||
                        event == Json::parse_event_t::array_start;
    events += begins ? 1 : 0;
    large = large || depth > static_cast<int>(kDeepestJson) || events > most;
    return !large;
  };
  // The parser does not recurse, but the value that it makes is destroyed recursively.
  Json json = Json::parse(text, watch, /*allow_exceptions=*/false);
  if (json.is_discarded() || large) return std::nullopt;
  return json;
}

std::string Timestamp(Time time) {
  return fmt::format("{:%FT%T}.{:03}Z", fmt::gmtime(time / kSecond), time % kSecond / kMillisecond);
}

void DecodeLongBase64(Json& object) {
  constexpr std::size_t kLong = 4096;  // bytes
  constexpr std::string_view kEnd = "_base64";
  for (auto& [name, value] : object.get_ref<Json::object_t&>()) {
    const auto* const text = value.get_ptr<const Json::string_t*>();
    if (text == nullptr || text->size() < kLong || !name.ends_with(kEnd)) continue;
    const std::string full = name;
    const std::string plain = full.substr(0, full.size() - kEnd.size());
    std::optional<std::string> decoded = FromBase64(*text);
    if (!decoded || object.contains(plain)) continue;
    object.erase(full);
    object[plain] = std::move(*decoded);
    return DecodeLongBase64(object);
  }
}

std::string RefOf(std::string_view name) {
  return Awkward(name) ? "~" + ToBase64Url(name) : PercentEncode(name);
}

std::optional<std::string> NameOfRef(std::string_view ref) {
  std::string name;
  if (!PercentDecode(ref, false, name) || name.empty()) return std::nullopt;
  if (!ref.starts_with('~')) return name;
  return FromBase64(std::string_view(name).substr(1));
}

}  // namespace gearstalk::api
