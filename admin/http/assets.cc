#include "admin/http/assets.h"

#include <fmt/format.h>

#include <algorithm>

namespace gearstalk {
namespace {

constexpr std::string_view kPolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; font-src 'none'; form-action 'none'; base-uri 'none'; "
    "frame-ancestors 'none'";

bool TakesGzip(const HttpRequest& request) {
  const std::string* const accepted = request.Header("accept-encoding");
  return accepted != nullptr && accepted->find("gzip") != std::string::npos &&
         accepted->find("gzip;q=0") == std::string::npos;
}

}  // namespace

const HttpAsset* FindAsset(std::span<const HttpAsset> assets, std::string_view name) {
  const auto found = std::find_if(assets.begin(), assets.end(),
                                  [&](const HttpAsset& asset) { return asset.name == name; });
  return found == assets.end() ? nullptr : &*found;
}

HttpAnswer AnswerAsset(const HttpAsset& asset, const HttpRequest& request) {
  HttpAnswer answer;
  answer.type = asset.type;
  const std::string tag = fmt::format("\"{}\"", asset.name);
  const std::string* const known = request.Header("if-none-match");
  const bool page = asset.name.empty();
  if (page) {
    answer.headers = {{"Cache-Control", "no-store"}};
  } else {
    answer.headers = {{"Cache-Control", "public, max-age=31536000, immutable"}, {"ETag", tag}};
  }
  answer.headers.insert(answer.headers.end(), {{"Content-Security-Policy", std::string(kPolicy)},
                                               {"X-Content-Type-Options", "nosniff"},
                                               {"Referrer-Policy", "no-referrer"},
                                               {"Vary", "Accept-Encoding"}});
  if (!page && known != nullptr && known->find(tag) != std::string::npos) {
    answer.status = 304;
    return answer;
  }
  const bool gzip = !asset.gzip.empty() && TakesGzip(request);
  if (gzip) answer.headers.emplace_back("Content-Encoding", "gzip");
  answer.body = gzip ? asset.gzip : asset.plain;
  return answer;
}

}  // namespace gearstalk
