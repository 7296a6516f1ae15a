#pragma once

#include <deque>
#include <map>
#include <string>
#include <string_view>

#include "admin/api/users.h"
#include "admin/http/answer.h"

namespace gearstalk::api {

struct Reply;

// Keeps the answers to requests with a key, so that a repeated request has no second effect.
class Idempotency {
 public:
  static constexpr Time kLasts = 600 * kSecond;
  static constexpr std::size_t kKept = 1024;

  struct Entry {
    Sha256 request{};
    bool done = false;
    int status = 0;
    std::string type, body;
    HttpAnswer::Headers headers;
    Lsn lsn = 0;  // the answer leaves when this is durable
    Time at = 0;
  };

  // nullptr: the key is new, and its request begins now.
  const Entry* Begin(const std::string& key, const Sha256& request, Time now);
  void Finish(const std::string& key, const Reply& reply);
  // Removes the key, as if there had been no request.
  void Forget(const std::string& key) { entries_.erase(key); }

 private:
  std::map<std::string, Entry, std::less<>> entries_;
  std::deque<std::pair<Time, std::string>> order_;
};

}  // namespace gearstalk::api
