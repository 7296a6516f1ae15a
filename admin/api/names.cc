#include "admin/api/names.h"

#include <algorithm>

#include "admin/api/json.h"
#include "admin/http/request.h"
#include "broker/base/base64.h"

namespace gearstalk::api {
namespace {

bool Awkward(std::string_view name) {
  const bool odd = std::any_of(name.begin(), name.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte < 0x20 || byte == 0x7F || c == '/' || c == '%' || c == '\\';
  });
  return odd || name.empty() || name.starts_with('~') || name == "." || name == ".." ||
         !IsUtf8(name);
}

}  // namespace

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
