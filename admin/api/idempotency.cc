#include "admin/api/idempotency.h"

#include "admin/api/call.h"

namespace gearstalk::api {

const Idempotency::Entry* Idempotency::Begin(const std::string& key, const Sha256& request,
                                             Time now) {
  while (!order_.empty() && (order_.front().first + kLasts <= now || order_.size() >= kKept)) {
    const auto found = entries_.find(order_.front().second);
    if (found != entries_.end() && found->second.at == order_.front().first) {
      entries_.erase(found);
    }
    order_.pop_front();
  }
  const auto [at, made] = entries_.try_emplace(key);
  if (!made) return &at->second;
  at->second.request = request;
  at->second.at = now;
  order_.emplace_back(now, key);
  return nullptr;
}

void Idempotency::Finish(const std::string& key, const Reply& reply) {
  const auto found = entries_.find(key);
  if (found == entries_.end()) return;
  Entry& entry = found->second;
  entry.done = true;
  entry.status = reply.status;
  entry.type = reply.type;
  entry.body = reply.body;
  entry.headers = reply.headers;
  entry.lsn = reply.lsn;
}

}  // namespace gearstalk::api
