#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "admin/api/problem.h"
#include "admin/api/users.h"
#include "admin/http/request.h"

namespace gearstalk::api {

struct AccessSettings {
  bool enabled = true;
  std::vector<User> users{};
  std::optional<Grant> anonymous{};  // unset: local callers are admins while there are no users
  std::vector<std::string> hosts{};
  std::vector<std::string> proxies{};  // addresses whose X-Forwarded-For is believed
  std::string base_path{};             // "" or "/PATH"
  std::uint32_t rate = 200;            // requests a second; 0: no limit
};

// Identifies and limits callers: accepted hosts and origins, tokens, sessions, requests a second.
class Guard {
 public:
  static constexpr Time kSessionLasts = 12 * 3600 * kSecond;
  // The cookie of a session is this, then the session.
  static constexpr std::string_view kCookieStart = "gearstalk_session=";

  void SetAccess(AccessSettings settings) { settings_ = std::move(settings); }
  const AccessSettings& settings() const { return settings_; }

  // Checks the host and origin of a request.
  std::optional<Problem> Admit(const HttpRequest& request) const;
  // The address of the client: the peer's, or the one that trusted proxies forward.
  std::string AddressOf(const HttpRequest& request) const;
  // Identifies the caller; with a wrong token it has no role. Counts nothing.
  Caller Recognise(const HttpRequest& request, Time now);
  // The same, and counts wrong tokens: call it once for each request. A problem: the token is
  // wrong, or too many were.
  Caller Identify(const HttpRequest& request, Time now, std::optional<Problem>& problem);
  // A problem if the caller has no access only because no access is configured.
  std::optional<Problem> NotConfigured(const Caller& caller) const;
  std::optional<Problem> CountRequest(const Caller& caller, Time now);

  // Begins a session for the owner of a token, which becomes `caller`.
  std::optional<Problem> OpenSession(std::string_view token, Time now, Caller& caller);
  void CloseSession(const std::string& session) { sessions_.erase(session); }
  // Whether the caller would be identified as before: the settings may have changed meanwhile.
  bool Lasts(const Caller& caller, Time now) const;

 private:
  struct Session {
    std::string user;
    Sha256 token;
    Time expires = 0;
    Time used = 0;
  };
  struct Wrong {
    Time since = 0;
    int tokens = 0;
  };
  struct Bucket {
    double left = 0;
    Time at = 0;
  };

  Problem CountWrongToken(const std::string& address, Time now);
  bool IsProxy(const std::string& address) const;
  const User* UserOf(const Session& session) const;
  bool AcceptsHost(const HttpRequest& request) const;
  Grant GrantOfAnonymous(const Caller& caller) const;

  AccessSettings settings_;
  std::map<std::string, Session, std::less<>> sessions_;
  std::map<std::string, Wrong, std::less<>> wrong_;     // by address
  std::map<std::string, Bucket, std::less<>> buckets_;  // by caller
};

}  // namespace gearstalk::api
