#include <fmt/format.h>

#include <algorithm>

#include "admin/api/answers.h"
#include "admin/api/decode.h"
#include "admin/api/routes.h"
#include "admin/api/side_thread.h"

namespace gearstalk::api {
namespace {

constexpr std::uint64_t kUsualShown = 65536;  // bytes
constexpr std::size_t kAtOnce = 4096;         // bytes that are decoded on the loop
constexpr std::size_t kPiece = 128 * 1024;    // bytes of a body that are sent in a slice

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

// For people to read: a string as it is, any other value as indented JSON.
Json TextFor(const Decoded& decoded) {
  if (!decoded.ok()) return {};
  if (decoded.value.is_string()) return decoded.value;
  return decoded.value.dump(2, ' ', false, Json::error_handler_t::replace);
}

// A copy of what a view needs of a job, because the job may go meanwhile.
struct Look {
  JobId id;
  std::string as;
  std::size_t size, offset;  // of the body, and of what is shown of it
  std::string part;          // as much as `limit` lets be shown
  std::string front;         // as much as is decoded as a whole
};

// Structured kinds need the whole body; `limit` bounds what is shown of the others.
std::string View(const Look& look) {
  const std::string_view front = look.front;
  std::string_view part = look.part;
  std::string_view first = front.substr(0, kMaxDecoded);
  if (first.size() < front.size()) first = WholeCharacters(first);
  const Decoded detected = Decode(first, "auto");
  const std::string& kind = look.as == "auto" ? detected.as : look.as;
  const bool whole = kind != "text" && kind != "hex";
  if (kind == "text" && look.offset + part.size() < look.size) part = WholeCharacters(part);
  const Decoded decoded = Decode(whole ? front : part, kind);
  const std::size_t shown = whole && decoded.ok() ? look.size : part.size();
  return Dump({{"id", look.id},
               {"size_bytes", look.size},
               {"offset", look.offset},
               {"shown_bytes", shown},
               {"truncated", look.offset + shown < look.size},
               {"as", look.as},
               {"detected", detected.as},
               {"value", decoded.ok() ? decoded.value : Json()},
               {"text", TextFor(decoded)},
               {"error", decoded.ok() ? Json() : Json(decoded.error)}});
}

// If the job goes meanwhile, the answer is cut off.
HttpBody BodyInPieces(const Engine& engine, JobPtr job) {
  for (std::size_t sent = 0;;) {
    if (engine.Find(job->id()) != job.get()) co_return std::nullopt;
    std::string piece(job->body().substr(sent, kPiece));
    sent += piece.size();
    if (sent == job->body_size()) co_return piece;
    co_yield piece;
  }
}

}  // namespace

Reply GetBody(Call& call) {
  const Job* const job = JobOf(call);
  if (job == nullptr) return NoSuch("job");
  return WithBody(call.services, *job, [&engine = call.engine()](const Job& whole) {
    Reply reply;
    reply.type = "application/octet-stream";
    if (whole.body_size() <= kPiece) {
      reply.body = whole.body();
    } else {
      reply.rest = BodyInPieces(engine, Job::Ref(const_cast<Job&>(whole)));
    }
    return std::move(reply)
        .With("Content-Disposition", fmt::format("attachment; filename=\"job-{}.bin\"", whole.id()))
        .With("Content-Security-Policy", "sandbox");
  });
}

Reply ViewBody(Call& call) {
  std::string as =
      call.fields.Word("as", {"auto", "text", "json", "base64", "hex", "php", "msgpack"});
  const auto limit = call.fields.IntegerOr("limit", 1, kMaxDecoded, kUsualShown);
  const auto offset = call.fields.IntegerOr("offset", 0, UINT32_MAX, 0);
  if (as.empty()) as = "auto";
  if (offset > 0 && as != "hex" && as != "text") call.fields.Fail("offset", "is for hex and text");
  if (!call.fields.Finish()) return call.fields.problem();
  const Job* const job = JobOf(call);
  if (job == nullptr) return NoSuch("job");
  return WithBody(call.services, *job,
                  [&side = call.services.side, as, offset, limit](const Job& whole) -> Reply {
                    const std::string_view body = whole.body();
                    Look look{.id = whole.id(),
                              .as = as,
                              .size = body.size(),
                              .offset = offset,
                              .part = std::string(
                                  body.substr(std::min<std::size_t>(offset, body.size()), limit)),
                              .front = std::string(body.substr(0, kMaxDecoded + 1))};
                    if (body.size() <= kAtOnce) return Reply(200, View(look));
                    return OnSideThread(side, [look = std::move(look)] { return View(look); });
                  });
}

}  // namespace gearstalk::api
