#pragma once

#include <string>

#include "tests/bench/load/connection.h"
#include "tests/bench/load/histogram.h"

namespace gearstalk::bench {

// Asks for one of the long lists again and again, on a connection of its own: a beanstalk command
// that is answered `OK <bytes>`, or a line of Gearman's text protocol that is answered by a table.
class Asker : public Connection, public RoundObserver {
 public:
  // `pause`: nanoseconds between an answer and the next question.
  Asker(Loop& loop, const Endpoint& endpoint, const std::string& question, int64_t pause);

  void OnRound(int64_t now) override;

  const std::string& question() const { return question_; }
  const Histogram& answers() const { return answers_; }
  int64_t largest_answer() const { return largest_answer_; }

 private:
  size_t OnInput(std::string_view input) override;
  bool IsComplete(std::string_view input) const;

  const std::string question_;
  const bool gearman_;
  const int64_t pause_;
  bool waiting_ = false;
  int64_t asked_ = 0;
  int64_t next_ = 0;
  Histogram answers_;
  int64_t largest_answer_ = 0;
};

}  // namespace gearstalk::bench
