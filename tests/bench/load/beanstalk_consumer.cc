#include "tests/bench/load/beanstalk_consumer.h"

#include "tests/bench/load/decimal.h"
#include "tests/bench/load/fail.h"

namespace gearstalk::bench {

BeanstalkConsumer::BeanstalkConsumer(Loop& loop, const Endpoint& endpoint, Flow& flow,
                                     const BeanstalkTaking& taking, const Role& role)
    : Connection(loop, endpoint), flow_(flow), taking_(taking), role_(role) {
  Watch();
  if (taking_.waits) {
    Reserve();
  } else {
    loop.AddObserver(this);
  }
}

void BeanstalkConsumer::Watch() {
  std::string& out = output();
  for (int64_t tube = 0; tube < taking_.tubes.count; ++tube) {
    out.append("watch ").append(taking_.tubes.Name(tube)).append("\r\n");
  }
  out.append("ignore default\r\n");
}

void BeanstalkConsumer::OnRound(int64_t) {
  while (asked_ < role_.depth && flow_.Take()) Reserve();
}

void BeanstalkConsumer::Reserve() {
  output().append("reserve\r\n");
  ++asked_;
}

void BeanstalkConsumer::DeleteOldest() {
  std::string& out = output();
  out.append("delete ");
  AppendDecimal(out, held_.front().id);
  out.append("\r\n");
  deleting_.push_back(held_.front().stamp);
  held_.pop_front();
}

size_t BeanstalkConsumer::OnInput(std::string_view input) {
  size_t used = 0;
  while (const size_t reply = OnReply(input.substr(used))) used += reply;
  return used;
}

size_t BeanstalkConsumer::OnReply(std::string_view input) {
  const size_t end = input.find("\r\n");
  if (end == std::string_view::npos) return 0;
  const size_t line_bytes = end + 2;
  if (input.starts_with("RESERVED ")) return OnReserved(input, line_bytes);
  if (input.starts_with("DELETED")) {
    OnDeleted();
  } else if (!input.starts_with("WATCHING ")) {
    Fail("a consumer was answered: " + std::string(input.substr(0, end)));
  }
  return line_bytes;
}

size_t BeanstalkConsumer::OnReserved(std::string_view input, size_t line_bytes) {
  constexpr size_t kWordBytes = sizeof("RESERVED ") - 1;
  const int64_t id = LeadingDecimal(input.substr(kWordBytes));
  const size_t blank = input.find(' ', kWordBytes);
  if (blank > line_bytes) Fail("RESERVED without a size");
  const auto body_bytes = static_cast<size_t>(LeadingDecimal(input.substr(blank + 1)));
  const size_t reply_bytes = line_bytes + body_bytes + 2;
  if (input.size() < reply_bytes) return 0;
  --asked_;
  const std::string_view body = input.substr(line_bytes, body_bytes);
  if (taking_.verification != nullptr) taking_.verification->Check(role_.index, body);
  held_.push_back({.id = id, .stamp = StampOf(body)});
  if (held_.size() > static_cast<size_t>(taking_.held)) {
    DeleteOldest();
  } else if (taking_.waits) {
    Reserve();
  }
  return reply_bytes;
}

void BeanstalkConsumer::OnDeleted() {
  flow_.Finish(loop().now(), deleting_.front());
  deleting_.pop_front();
  if (taking_.waits) Reserve();
}

}  // namespace gearstalk::bench
