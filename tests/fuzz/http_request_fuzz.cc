// Requests of HTTP: whole or cut anywhere, the parser reads the same, and no more than it is given.

#include "admin/http/parser.h"
#include "tests/fuzz/fuzz.h"

namespace gearstalk {
namespace {

constexpr std::size_t kMaxBody = 512;

struct Reading {
  HttpParser parser;
  std::size_t used = 0;
};

void Feed(Reading& reading, std::string_view bytes) {
  while (true) {
    const HttpParser::State before = reading.parser.state();
    const std::size_t used = reading.parser.Take(bytes);
    GS_CHECK(used <= bytes.size());
    reading.used += used;
    bytes.remove_prefix(used);
    const HttpParser::State state = reading.parser.state();
    if (state == HttpParser::State::kBody && before == HttpParser::State::kHead) {
      reading.parser.set_max_body(kMaxBody);
      continue;
    }
    if (state == HttpParser::State::kDone || state == HttpParser::State::kBad) return;
    if (bytes.empty()) return;
  }
}

void CheckRequest(HttpParser& parser) {
  const HttpRequest& request = parser.request();
  if (parser.state() == HttpParser::State::kBad) {
    GS_CHECK(parser.status() >= 400 && parser.status() < 600);
    return;
  }
  if (parser.state() != HttpParser::State::kDone) return;
  GS_CHECK(!request.method.empty());
  GS_CHECK(request.path.starts_with('/') || request.path == "*");
  GS_CHECK(request.body.size() <= kMaxBody);
  for (const auto& [name, value] : request.headers) {
    GS_CHECK(!name.empty() && name.find_first_of("\r\n: ") == std::string::npos);
    GS_CHECK(value.find_first_of("\r\n") == std::string::npos);
  }
}

}  // namespace
}  // namespace gearstalk

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace gearstalk;
  if (size == 0) return 0;
  const std::string_view bytes = AsBytes(data + 1, size - 1);
  Reading whole;
  Feed(whole, bytes);
  CheckRequest(whole.parser);
  Reading cut;
  const std::size_t piece = std::size_t{data[0]} % 32 + 1;
  for (std::size_t at = 0; at < bytes.size(); at += piece) {
    if (cut.parser.state() == HttpParser::State::kDone ||
        cut.parser.state() == HttpParser::State::kBad) {
      break;
    }
    Feed(cut, bytes.substr(at, piece));
  }
  GS_CHECK(cut.parser.state() == whole.parser.state());
  if (whole.parser.state() != HttpParser::State::kDone) return 0;
  GS_CHECK(cut.used == whole.used);
  GS_CHECK(cut.parser.request().path == whole.parser.request().path);
  GS_CHECK(cut.parser.request().headers == whole.parser.request().headers);
  GS_CHECK(cut.parser.request().body == whole.parser.request().body);
  return 0;
}
