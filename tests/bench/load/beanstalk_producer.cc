#include "tests/bench/load/beanstalk_producer.h"

#include "tests/bench/load/decimal.h"
#include "tests/bench/load/fail.h"

namespace gearstalk::bench {

BeanstalkProducer::BeanstalkProducer(Loop& loop, const Endpoint& endpoint, Flow& flow,
                                     const JobShape& shape, const Role& role)
    : Connection(loop, endpoint),
      flow_(flow),
      shape_(shape),
      role_(role),
      body_(shape),
      random_(static_cast<unsigned>(role.index + 1)) {
  loop.AddObserver(this);
}

void BeanstalkProducer::OnRound(int64_t now) {
  while (unanswered_.size() < static_cast<size_t>(role_.depth)) {
    const auto start = flow_.Start(now);
    if (!start) return;
    Put(*start, now);
  }
}

void BeanstalkProducer::Put(const JobStart& start, int64_t now) {
  std::string& out = output();
  const int64_t tube = shape_.TubeOf(start.index, role_.index, role_.count);
  if (tube != used_tube_) {
    out.append("use ").append(shape_.tubes.Name(tube)).append("\r\n");
    used_tube_ = tube;
  }
  out.append("put ");
  AppendDecimal(out, shape_.random_priorities ? static_cast<int64_t>(random_()) : shape_.priority);
  out.push_back(' ');
  AppendDecimal(out, shape_.Delay(now));
  out.append(" 3600 ");
  AppendDecimal(out, static_cast<int64_t>(shape_.body_bytes));
  const Origin origin{.producer = role_.index, .number = start.index};
  out.append("\r\n").append(body_.Make(start.stamp, origin)).append("\r\n");
  unanswered_.push_back({.at = now, .stamp = start.stamp});
}

size_t BeanstalkProducer::OnInput(std::string_view input) {
  size_t used = 0;
  for (;;) {
    const size_t end = input.find("\r\n", used);
    if (end == std::string_view::npos) return used;
    OnLine(input.substr(used, end - used));
    used = end + 2;
  }
}

void BeanstalkProducer::OnLine(std::string_view line) {
  if (line.starts_with("USING ")) return;
  if (!line.starts_with("INSERTED ")) Fail("put was answered: " + std::string(line));
  const Sent sent = unanswered_.front();
  unanswered_.pop_front();
  flow_.CommandAnswered(loop().now(), sent.at);
  if (role_.finishes_jobs) {
    flow_.Finish(loop().now(), sent.stamp);
  } else {
    flow_.Stored();
  }
}

}  // namespace gearstalk::bench
