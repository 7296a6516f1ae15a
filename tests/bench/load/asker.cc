#include "tests/bench/load/asker.h"

#include <algorithm>
#include <array>

#include "tests/bench/load/decimal.h"
#include "tests/bench/load/fail.h"

namespace gearstalk::bench {

namespace {

bool IsGearmanLine(std::string_view question) {
  constexpr std::array<std::string_view, 4> kWords = {"status", "prioritystatus", "workers",
                                                      "show"};
  const std::string_view word = question.substr(0, question.find(' '));
  return std::find(kWords.begin(), kWords.end(), word) != kWords.end();
}

}  // namespace

Asker::Asker(Loop& loop, const Endpoint& endpoint, const std::string& question, int64_t pause)
    : Connection(loop, endpoint),
      question_(question),
      gearman_(IsGearmanLine(question)),
      pause_(pause) {
  loop.AddObserver(this);
}

void Asker::OnRound(int64_t now) {
  if (waiting_ || now < next_) return;
  output().append(question_).append(gearman_ ? "\n" : "\r\n");
  waiting_ = true;
  asked_ = now;
}

bool Asker::IsComplete(std::string_view input) const {
  if (gearman_) return input == ".\n" || input.ends_with("\n.\n");
  const size_t end = input.find("\r\n");
  if (end == std::string_view::npos) return false;
  if (!input.starts_with("OK ")) Fail(question_ + " was answered: " + std::string(input));
  const auto bytes = static_cast<size_t>(LeadingDecimal(input.substr(3)));
  return input.size() >= end + 2 + bytes + 2;
}

size_t Asker::OnInput(std::string_view input) {
  if (!IsComplete(input)) return 0;
  const int64_t now = loop().now();
  answers_.Add(now - asked_);
  largest_answer_ = std::max(largest_answer_, static_cast<int64_t>(input.size()));
  waiting_ = false;
  next_ = now + pause_;
  return input.size();
}

}  // namespace gearstalk::bench
