#include <gtest/gtest.h>

#include <ostream>
#include <string>

#include "tests/engine/history.h"

namespace gearstalk {
namespace {

struct Setting {
  const char* name;
  EngineOptions options;
  friend void PrintTo(const Setting& setting, std::ostream* out) { *out << setting.name; }
};

class RandomTest : public ::testing::TestWithParam<Setting> {};

TEST_P(RandomTest, TheEngineAgreesWithTheModel) {
  constexpr int kSteps = 60'000, kStepsOfOne = 3000, kStepsToRestart = 100;
  int steps = 0;
  for (std::uint64_t seed = 1; steps < kSteps; ++seed) {
    SCOPED_TRACE(seed);
    History history(seed, GetParam().options);
    for (int step = 1; step <= kStepsOfOne && !history.over(); ++step, ++steps) {
      ASSERT_NO_FATAL_FAILURE(history.Step());
      if (step % kStepsToRestart == 0 && !history.over()) {
        ASSERT_NO_FATAL_FAILURE(history.CompareRestarted());
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Settings, RandomTest,
                         ::testing::Values(Setting{"defaults", {}},
                                           Setting{"two_retries", {.job_retries = 2}},
                                           Setting{"wake_all", {.wake_all = true}}),
                         [](const auto& setting) { return std::string(setting.param.name); });

}  // namespace
}  // namespace gearstalk
