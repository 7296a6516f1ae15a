#include "broker/process/log_limiter.h"

#include <algorithm>
#include <utility>

namespace gearstalk {

bool LogLimiter::Admit(std::string_view kind) {
  auto found = buckets_.find(kind);
  if (found == buckets_.end()) found = buckets_.emplace(kind, Bucket()).first;
  Bucket& bucket = found->second;
  if (bucket.tokens == 0) {
    ++bucket.suppressed;
    return false;
  }
  --bucket.tokens;
  return true;
}

std::vector<LogLimiter::Suppressed> LogLimiter::Refill() {
  std::vector<Suppressed> all;
  for (auto& [kind, bucket] : buckets_) {
    bucket.tokens = std::min(bucket.tokens + kRefill, kBurst);
    if (bucket.suppressed > 0) all.push_back({kind, std::exchange(bucket.suppressed, 0)});
  }
  return all;
}

}  // namespace gearstalk
