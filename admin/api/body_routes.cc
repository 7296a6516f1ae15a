#include <fmt/format.h>

#include <algorithm>

#include "admin/api/decode.h"
#include "admin/api/fields.h"
#include "admin/api/handlers.h"
#include "admin/api/lookup.h"

namespace gearstalk::api {
namespace {

constexpr std::uint64_t kUsualShown = 65536;       // bytes
constexpr std::uint64_t kMostShown = kMaxDecoded;  // bytes

// Cut between two characters.
std::string_view WholeCharacters(std::string_view text) {
  for (std::size_t back = 1; back <= std::min<std::size_t>(3, text.size()); ++back) {
    const auto byte = static_cast<unsigned char>(text[text.size() - back]);
    if (byte < 0x80) break;
    if (byte < 0xC0) continue;
    if (CharacterSize(text.substr(text.size() - back)) == 0) text.remove_suffix(back);
    break;
  }
  return text;
}

// For people: the value itself if it is a text, else indented.
Json TextFor(const Decoded& decoded) {
  if (!decoded.ok()) return {};
  if (decoded.value.is_string()) return decoded.value;
  return decoded.value.dump(2, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

Reply GetBody(Call& call) {
  const Job* const job = JobOf(call);
  if (job == nullptr) return NoJob();
  Reply reply;
  reply.type = "application/octet-stream";
  reply.body = job->body();
  return std::move(reply)
      .With("Content-Disposition", fmt::format("attachment; filename=\"job-{}.bin\"", job->id()))
      .With("Content-Security-Policy", "sandbox");
}

Reply ViewBody(Call& call) {
  Fields fields = Fields::OfQuery(call.request.query);
  std::string as = fields.Word("as", {"auto", "text", "json", "base64", "hex", "php", "msgpack"});
  const auto limit = fields.IntegerOr("limit", 1, kMostShown, kUsualShown);
  const auto offset = fields.IntegerOr("offset", 0, UINT32_MAX, 0);
  if (as.empty()) as = "auto";
  if (offset > 0 && as != "hex" && as != "text") fields.Fail("offset", "is for hex and text");
  if (!fields.Finish()) return fields.problem();
  const Job* const job = JobOf(call);
  if (job == nullptr) return NoJob();
  const std::string_view body = job->body();
  std::string_view part = body.substr(std::min<std::size_t>(offset, body.size()), limit);
  // Structured kinds need the whole body; `limit` bounds what is shown of the others.
  const Decoded detected = Decode(body.substr(0, kMaxDecoded), "auto");
  const std::string& kind = as == "auto" ? detected.as : as;
  const bool whole = kind != "text" && kind != "hex";
  if (kind == "text" && offset + part.size() < body.size()) part = WholeCharacters(part);
  const Decoded decoded = Decode(whole ? body.substr(0, kMaxDecoded + 1) : part, kind);
  if (whole && decoded.ok()) part = body;
  const Json& value = decoded.value;
  return Reply::Of({{"id", job->id()},
                    {"size_bytes", body.size()},
                    {"offset", offset},
                    {"shown_bytes", part.size()},
                    {"truncated", offset + part.size() < body.size()},
                    {"as", as},
                    {"detected", detected.as},
                    {"value", decoded.ok() ? value : Json()},
                    {"text", TextFor(decoded)},
                    {"error", decoded.ok() ? Json() : Json(decoded.error)}});
}

}  // namespace gearstalk::api
