#include "admin/http/parser.h"

#include <algorithm>
#include <cctype>
#include <charconv>

#include "broker/base/split.h"

namespace gearstalk {
namespace {

constexpr std::uint64_t kAnySize = UINT64_MAX;
constexpr std::size_t kMaxPairs = 100;  // parameters in a query, headers in a head

bool Digit(char c) { return c >= '0' && c <= '9'; }

bool TokenChar(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
         std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
}

bool Token(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), TokenChar);
}

// Neither control bytes nor spaces.
bool Visible(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return static_cast<unsigned char>(c) > 0x20 && c != 0x7F; });
}

// Of a header's or a chunk's value: no control bytes.
bool Clean(std::string_view value) {
  return std::none_of(value.begin(), value.end(), [](char c) {
    return (static_cast<unsigned char>(c) < 0x20 && c != '\t') || c == 0x7F;
  });
}

}  // namespace

bool HttpParser::Bad(int status) {
  status_ = status;
  state_ = State::kBad;
  return false;
}

std::size_t HttpParser::Take(std::string_view bytes) {
  if (state_ == State::kHead) return TakeHead(bytes);
  if (state_ != State::kBody) return 0;
  if (chunked_) return TakeChunked(bytes);
  const std::size_t used = TakeBody(bytes);
  if (length_ == 0) state_ = State::kDone;
  return used;
}

void HttpParser::set_max_body(std::size_t bytes) {
  max_body_ = bytes;
  if (state_ != State::kBody) return;
  if (!chunked_ && length_ > max_body_) {
    Bad(413);
  } else if (!has_body()) {
    state_ = State::kDone;
  } else {
    request_.body.reserve(length_);  // to grow it leaves holes in the heap
  }
}

std::size_t HttpParser::TakeLinePart(std::string_view bytes, std::size_t& used) {
  const std::size_t end = std::min(bytes.find('\n', used), bytes.size() - 1) + 1;
  const std::string_view part = bytes.substr(used, end - used);
  head_ += part;
  used = end;
  return part.size();
}

// Line by line, so that a head which comes byte by byte is not searched again and again.
std::size_t HttpParser::TakeHead(std::string_view bytes) {
  std::size_t used = 0;
  while (state_ == State::kHead && used < bytes.size()) {
    TakeLinePart(bytes, used);
    if (head_.size() > kMaxHead) {
      Bad(431);
    } else if (head_ == "\n" || head_ == "\r\n") {
      head_.clear();  // ignores empty lines in front of a request
    } else if (head_.ends_with("\n\r\n") || head_.ends_with("\n\n")) {
      if (ParseHead()) state_ = State::kBody;
      head_.clear();
    }
  }
  return used;
}

bool HttpParser::ParseHead() {
  std::string_view rest = head_;
  for (bool first = true; !rest.empty(); first = false) {
    const std::size_t feed = rest.find('\n');
    std::string_view line = rest.substr(0, feed);
    if (line.ends_with('\r')) line.remove_suffix(1);
    rest.remove_prefix(feed + 1);
    if (line.empty()) break;
    if (first ? !ParseRequestLine(line) : !ParseHeader(line)) return false;
  }
  return Understand();
}

bool HttpParser::ParseRequestLine(std::string_view line) {
  const std::size_t first = line.find(' ');
  const std::size_t last = line.rfind(' ');
  if (first == std::string_view::npos || last == first) return Bad(400);
  const std::string_view version = line.substr(last + 1);
  request_.method = line.substr(0, first);
  if (!Token(request_.method)) return Bad(400);
  if (version != "HTTP/1.1" && version != "HTTP/1.0") {
    const bool other = version.size() == 8 && version.starts_with("HTTP/") && Digit(version[5]) &&
                       version[6] == '.' && Digit(version[7]);
    return Bad(other ? 505 : 400);
  }
  request_.chunked_answers = request_.keep_alive = version == "HTTP/1.1";
  return ParseTarget(line.substr(first + 1, last - first - 1));
}

bool HttpParser::ParseTarget(std::string_view target) {
  if (!Visible(target)) return Bad(400);
  if (const std::size_t fragment = target.find('#'); fragment != std::string_view::npos) {
    return Bad(400);
  }
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (!target.starts_with(scheme)) continue;
    target.remove_prefix(scheme.size());
    const std::size_t slash = std::min(target.find_first_of("/?"), target.size());
    authority_ = target.substr(0, slash);
    target.remove_prefix(slash);
    const bool open = authority_.find('[') != std::string_view::npos;
    const bool closed = authority_.find(']') != std::string_view::npos;
    if (authority_.empty() || open != closed) return Bad(400);
  }
  const std::size_t question = std::min(target.find('?'), target.size());
  request_.path = target.substr(0, question);
  if (request_.path.empty() && !authority_.empty()) request_.path.assign(1, '/');
  // "OPTIONS *" is valid, though nothing serves it.
  if (!request_.path.starts_with('/') && request_.path != "*") return Bad(400);
  return question == target.size() || ParseQuery(target.substr(question + 1));
}

bool HttpParser::ParseQuery(std::string_view query) {
  for (const std::string_view pair : SplitWords(query, "&")) {
    const auto [left, right] = SplitOnce(pair, '=');
    auto& [name, value] = request_.query.emplace_back();
    const bool good = PercentDecode(left, true, name) && PercentDecode(right, true, value);
    if (!good || request_.query.size() > kMaxPairs) return Bad(400);
  }
  return true;
}

bool HttpParser::ParseHeader(std::string_view line) {
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos || !Token(line.substr(0, colon))) return Bad(400);
  const std::string_view value = Trimmed(line.substr(colon + 1));
  if (!Clean(value) || request_.headers.size() == kMaxPairs) return Bad(400);
  request_.headers.emplace_back(Lower(line.substr(0, colon)), value);
  return true;
}

// Reads the headers that are about the connection and the body.
bool HttpParser::Understand() {
  const bool old = !request_.chunked_answers;
  bool length_given = false, host_given = false;
  for (auto& [name, value] : request_.headers) {
    if (name == "content-length") {
      std::uint64_t length = 0;
      if (!ParseNumber(value, length) || (length_given && length != length_)) return Bad(400);
      length_ = length;
      length_given = true;
    } else if (name == "transfer-encoding") {
      if (Lower(value) != "chunked" || old || chunked_) return Bad(old || chunked_ ? 400 : 501);
      chunked_ = true;
    } else if (name == "connection") {
      const std::string lower = Lower(value);
      if (lower.find("close") != std::string::npos) request_.keep_alive = false;
      if (old && lower.find("keep-alive") != std::string::npos) request_.keep_alive = true;
    } else if (name == "expect") {
      if (Lower(value) != "100-continue") return Bad(417);
      expects_continue_ = !old;
    } else if (name == "host") {
      if (host_given) return Bad(400);
      host_given = true;
      if (!authority_.empty()) value = authority_;
    }
  }
  if (!host_given && !old) return Bad(400);
  if (!host_given && !authority_.empty()) request_.headers.emplace_back("host", authority_);
  // A request with two lengths is an attempt to smuggle another one past a proxy.
  if (chunked_ && length_given) return Bad(400);
  return true;
}

// Takes what is left of the body, or of the chunk.
std::size_t HttpParser::TakeBody(std::string_view bytes) {
  const std::size_t part = static_cast<std::size_t>(std::min<std::uint64_t>(bytes.size(), length_));
  request_.body += bytes.substr(0, part);
  length_ -= part;
  return part;
}

std::size_t HttpParser::TakeChunked(std::string_view bytes) {
  std::size_t used = 0;
  while (state_ == State::kBody && used < bytes.size()) {
    if (part_ != Part::kChunk) {
      if (!TakeLine(bytes, used)) continue;
      // Another reader would see another end of a line that only LF ends, and so another request.
      if (head_.ends_with("\r\n")) {
        EndLine(std::string_view(head_).substr(0, head_.size() - 2));
      } else {
        Bad(400);
      }
      head_.clear();
      continue;
    }
    used += TakeBody(bytes.substr(used));
    if (length_ == 0) part_ = Part::kChunkEnd;
  }
  return used;
}

// Whether `head_` holds a whole line now, its end included.
bool HttpParser::TakeLine(std::string_view bytes, std::size_t& used) {
  trailers_ += TakeLinePart(bytes, used);
  if (head_.size() > kMaxHead || trailers_ > max_body_ + kMaxHead) return Bad(431);
  return head_.ends_with('\n');
}

void HttpParser::EndLine(std::string_view line) {
  switch (part_) {
    case Part::kChunkSize:
      if (!ParseChunkSize(line)) return;
      part_ = length_ == 0 ? Part::kTrailer : Part::kChunk;
      break;
    case Part::kChunkEnd:
      if (!line.empty()) {
        Bad(400);
        return;
      }
      part_ = Part::kChunkSize;
      break;
    case Part::kTrailer:
      if (line.empty()) {
        state_ = State::kDone;
      } else if (!Token(line.substr(0, line.find(':'))) || !Clean(line) ||
                 line.find(':') == std::string_view::npos) {
        Bad(400);
      }
      break;
    case Part::kChunk:
      break;
  }
}

// Behind the size may only stand extensions, which mean nothing here.
bool HttpParser::ParseChunkSize(std::string_view line) {
  length_ = kAnySize;
  const auto [stop, error] = std::from_chars(line.begin(), line.end(), length_, 16);
  if (error != std::errc()) return Bad(400);
  const std::string_view behind =
      Trimmed(line.substr(static_cast<std::size_t>(stop - line.begin())));
  const bool good = behind.empty() ? stop == line.end() : behind.starts_with(';') && Clean(behind);
  if (!good) return Bad(400);
  if (length_ > max_body_ || request_.body.size() + length_ > max_body_) return Bad(413);
  return true;
}

}  // namespace gearstalk
