#include "admin/api/guard.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>

#include "broker/base/split.h"

namespace gearstalk::api {
namespace {

constexpr std::size_t kMaxSessions = 1024;
constexpr int kWrongTokens = 5;
constexpr Time kWrongLasts = 60 * kSecond;
constexpr std::size_t kRemembered = 4096;  // addresses and callers

bool IsAddress(const std::string& host) {
  in6_addr address{};
  if (host.starts_with('[') && host.ends_with(']')) {
    return inet_pton(AF_INET6, host.substr(1, host.size() - 2).c_str(), &address) == 1;
  }
  return inet_pton(AF_INET, host.c_str(), &address) == 1;
}

std::string WithoutPort(std::string_view authority) {
  const std::size_t bracket = authority.rfind(']');
  const std::size_t colon = authority.rfind(':');
  const bool port =
      colon != std::string_view::npos && (bracket == std::string_view::npos || colon > bracket);
  return Lower(port ? authority.substr(0, colon) : authority);
}

// Leaves out the default port of the scheme.
std::string Authority(std::string_view text, std::string_view scheme) {
  const std::string_view port = scheme == "https" ? ":443" : ":80";
  return Lower(text.ends_with(port) ? text.substr(0, text.size() - port.size()) : text);
}

bool SameOrigin(const HttpRequest& request) {
  if (const std::string* site = request.Header("sec-fetch-site");
      site != nullptr && *site != "same-origin" && *site != "none") {
    return false;
  }
  const std::string* origin = request.Header("origin");
  if (origin == nullptr) return true;
  const std::string* host = request.Header("host");
  const std::size_t slashes = origin->find("://");
  if (host == nullptr || slashes == std::string::npos) return false;
  const std::string scheme = Lower(origin->substr(0, slashes));
  return Authority(origin->substr(slashes + 3), scheme) == Authority(*host, scheme);
}

// The token of "Bearer TOKEN"; nothing: it is another scheme.
std::optional<std::string_view> BearerOf(std::string_view header) {
  constexpr std::string_view kBearer = "bearer ";
  if (!Lower(header).starts_with(kBearer)) return std::nullopt;
  return header.substr(kBearer.size());
}

// The address in an element of X-Forwarded-For, written as addresses of peers are; empty: there is
// none. Some proxies add the port.
std::string AddressIn(std::string_view element) {
  element = Trimmed(element);
  const bool bracket = element.starts_with('[');
  const bool v4 = std::count(element.begin(), element.end(), ':') <= 1;
  const std::string_view host = bracket ? element.substr(1, element.find(']') - 1)
                                : v4    ? element.substr(0, element.find(':'))
                                        : element;
  char text[INET6_ADDRSTRLEN] = "";
  in6_addr address{};
  const int family = bracket || !v4 ? AF_INET6 : AF_INET;
  if (inet_pton(family, std::string(host).c_str(), &address) != 1) return "";
  return inet_ntop(family, &address, text, sizeof text);
}

void Become(Caller& caller, const User& user, Caller::Via via) {
  caller.grant = user.grant;
  caller.user = user.name;
  caller.token = user.token;
  caller.via = via;
}

// Forgets the entries that are over, and all of them if that does not make room.
template <typename Map, typename Over>
void Bound(Map& map, Over over) {
  if (map.size() < kRemembered) return;
  std::erase_if(map, [&](const auto& entry) { return over(entry.second); });
  if (map.size() >= kRemembered) map.clear();
}

// Whether the request comes from this machine, and not through a proxy on it.
bool IsLocal(const HttpRequest& request) {
  for (const std::string_view name : {"forwarded", "x-forwarded-for", "x-real-ip"}) {
    if (request.Header(name) != nullptr) return false;
  }
  return request.peer.local;
}

// The value of the session's cookie; empty: there is none.
std::string_view CookieOf(const HttpRequest& request) {
  for (const auto& [header, value] : request.headers) {
    if (header != "cookie") continue;
    for (std::string_view pair : Split(value, ';')) {
      while (pair.starts_with(' ')) pair.remove_prefix(1);
      if (pair.starts_with(Guard::kCookieStart)) return pair.substr(Guard::kCookieStart.size());
    }
  }
  return {};
}

}  // namespace

bool Guard::AcceptsHost(const HttpRequest& request) const {
  if (request.peer.unix) return true;
  const std::string* header = request.Header("host");
  if (header == nullptr) return false;
  const std::string host = WithoutPort(*header);
  return host == "localhost" || IsAddress(host) ||
         std::any_of(settings_.hosts.begin(), settings_.hosts.end(),
                     [&](const std::string& name) { return Lower(name) == host; });
}

std::optional<Problem> Guard::Admit(const HttpRequest& request) const {
  if (!AcceptsHost(request)) {
    const std::string* host = request.Header("host");
    return Problem{"bad-host",
                   fmt::format("the host name '{}' is not accepted: add it to console.hosts",
                               host == nullptr ? "" : *host)};
  }
  if (request.Reads()) return std::nullopt;
  if (!SameOrigin(request)) return Problem{"cross-site", "the request comes from another origin"};
  if (request.method != "POST" && request.method != "PUT") return std::nullopt;
  if (const std::string* coding = request.Header("content-encoding");
      coding != nullptr && Lower(*coding) != "identity") {
    return Problem{"unsupported-media-type", "the body must not have a Content-Encoding"};
  }
  const std::string* type = request.Header("content-type");
  const std::string kind = type == nullptr ? "" : Lower(type->substr(0, type->find(';')));
  if (kind == "application/json" || kind == "application/json ") return std::nullopt;
  return Problem{"unsupported-media-type", "the Content-Type must be application/json"};
}

// Only wrong tokens are counted and refused: others behind the same address may have right ones.
Problem Guard::CountWrongToken(const std::string& address, Time now) {
  Bound(wrong_, [&](const Wrong& each) { return now - each.since >= kWrongLasts; });
  Wrong& wrong = wrong_[address];
  if (now - wrong.since >= kWrongLasts) wrong = {};
  if (wrong.tokens++ == 0) wrong.since = now;
  if (wrong.tokens <= kWrongTokens) return {"unauthenticated", "the token is unknown"};
  const Time left = wrong.since + kWrongLasts - now;
  return {.code = "too-many-requests",
          .detail = "too many wrong tokens came from this address",
          .more = {{"retry_after_seconds", left / kSecond + 1}}};
}

const User* Guard::UserOf(const Session& session) const {
  for (const User& user : settings_.users) {
    if (user.name == session.user && user.token == session.token) return &user;
  }
  return nullptr;
}

Grant Guard::GrantOfAnonymous(const Caller& caller) const {
  if (settings_.anonymous) return *settings_.anonymous;
  if (settings_.users.empty() && caller.local) return {.role = Role::kAdmin, .bodies = true};
  return {};
}

std::string Guard::AddressOf(const HttpRequest& request) const {
  std::string address = request.peer.address;
  for (auto header = request.headers.rbegin(); header != request.headers.rend(); ++header) {
    if (header->first != "x-forwarded-for") continue;
    // From the last element to the first: each proxy appended the address that it was called from.
    for (std::string_view rest = header->second; !rest.empty();) {
      if (!IsProxy(address)) return address;
      const std::size_t comma = rest.rfind(',');
      const std::size_t begin = comma == std::string_view::npos ? 0 : comma + 1;
      const std::string forwarded = AddressIn(rest.substr(begin));
      if (forwarded.empty()) return address;
      address = forwarded;
      rest = rest.substr(0, comma == std::string_view::npos ? 0 : comma);
    }
  }
  return address;
}

bool Guard::IsProxy(const std::string& address) const {
  return std::find(settings_.proxies.begin(), settings_.proxies.end(), address) !=
         settings_.proxies.end();
}

Caller Guard::Recognise(const HttpRequest& request, Time now) {
  Caller caller;
  caller.address = AddressOf(request);
  caller.local = IsLocal(request);
  if (const std::string* header = request.Header("authorization")) {
    const auto token = BearerOf(*header);
    const User* const user = token ? FindUser(settings_.users, *token) : nullptr;
    if (user == nullptr) return caller;
    Become(caller, *user, Caller::Via::kToken);
    return caller;
  }
  if (const auto found = sessions_.find(CookieOf(request)); found != sessions_.end()) {
    Session& session = found->second;
    const User* const user = UserOf(session);
    if (user != nullptr && session.expires > now) {
      session.used = now;
      Become(caller, *user, Caller::Via::kCookie);
      caller.session = found->first;
      caller.expires = session.expires;
      return caller;
    }
    sessions_.erase(found);
  }
  caller.grant = GrantOfAnonymous(caller);
  if (caller.grant.role != Role::kNone) caller.via = Caller::Via::kAnonymous;
  return caller;
}

Caller Guard::Identify(const HttpRequest& request, Time now, std::optional<Problem>& problem) {
  Caller caller = Recognise(request, now);
  const std::string* const header = request.Header("authorization");
  if (header == nullptr || caller.via == Caller::Via::kToken) return caller;
  problem = BearerOf(*header) ? CountWrongToken(caller.address, now)
                              : Problem{"unauthenticated", "expected Authorization: Bearer TOKEN"};
  return caller;
}

std::optional<Problem> Guard::NotConfigured(const Caller& caller) const {
  if (!settings_.users.empty() || settings_.anonymous || caller.local) return std::nullopt;
  return Problem{"access-not-configured",
                 "nobody has access from here: set console.users or console.anonymous"};
}

std::optional<Problem> Guard::CountRequest(const Caller& caller, Time now) {
  if (settings_.rate == 0) return std::nullopt;
  const double most = 2.0 * settings_.rate;
  Bound(buckets_, [&](const Bucket& each) { return now - each.at > 10 * kSecond; });
  const auto [at, made] = buckets_.try_emplace(caller.key(), Bucket{most, now});
  Bucket& bucket = at->second;
  bucket.left = std::min(most, bucket.left + static_cast<double>(now - bucket.at) /
                                                 static_cast<double>(kSecond) * settings_.rate);
  bucket.at = now;
  if (bucket.left >= 1) {
    bucket.left -= 1;
    return std::nullopt;
  }
  return Problem{.code = "too-many-requests",
                 .detail = "more requests than console.rate allows",
                 .more = {{"retry_after_seconds", 1}}};
}

std::optional<Problem> Guard::OpenSession(std::string_view token, Time now, Caller& caller) {
  const User* const user = FindUser(settings_.users, token);
  if (user == nullptr) return CountWrongToken(caller.address, now);
  std::erase_if(sessions_, [&](const auto& entry) { return entry.second.expires <= now; });
  while (sessions_.size() >= kMaxSessions) {
    sessions_.erase(std::min_element(
        sessions_.begin(), sessions_.end(),
        [](const auto& a, const auto& b) { return a.second.used < b.second.used; }));
  }
  caller.session = RandomText(32);
  Become(caller, *user, Caller::Via::kCookie);
  caller.expires = now + kSessionLasts;
  sessions_[caller.session] = {user->name, user->token, caller.expires, now};
  return std::nullopt;
}

bool Guard::Lasts(const Caller& caller, Time now) const {
  if (caller.via == Caller::Via::kAnonymous) return caller.grant == GrantOfAnonymous(caller);
  if (caller.via == Caller::Via::kCookie) {
    const auto found = sessions_.find(caller.session);
    if (found == sessions_.end() || found->second.expires <= now) return false;
  }
  return std::any_of(settings_.users.begin(), settings_.users.end(), [&](const User& user) {
    return user.name == caller.user && user.token == caller.token && user.grant == caller.grant;
  });
}

}  // namespace gearstalk::api
