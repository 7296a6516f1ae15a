// How log lines are written, and how many.

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "broker/process/log.h"
#include "broker/process/log_line.h"
#include "broker/process/log_queue.h"
#include "broker/process/machine.h"

namespace gearstalk {
namespace {

std::string Json(std::string_view text) {
  std::string out;
  AppendJsonText(out, text);
  return out;
}

// Files as the kernel has them for control groups.
class GroupsTest : public testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_directories(groups_ / "memory/service/broker"); }
  void TearDown() override { std::filesystem::remove_all(groups_); }
  void Write(const std::filesystem::path& file, std::string_view text) {
    std::filesystem::create_directories((groups_ / file).parent_path());
    std::ofstream(groups_ / file) << text;
  }

  const std::filesystem::path groups_ = testing::TempDir() + "groups" + std::to_string(getpid());
};

class MachineMemoryTest : public GroupsTest {
 protected:
  std::uint64_t Memory(std::string_view groups_of_process) {
    Write("process", groups_of_process);
    return MachineMemory(groups_ / "process", groups_);
  }
};

TEST_F(MachineMemoryTest, IsThatOfTheMachineWithoutALimit) {
  const std::uint64_t machine = Memory("");
  EXPECT_GT(machine, 1U << 20U);
  Write("service/memory.max", "max\n");
  EXPECT_EQ(Memory("0::/service\n"), machine);
}

TEST_F(MachineMemoryTest, IsTheLeastOfTheGroupsThatTheProcessIsIn) {
  Write("service/memory.max", "4096\n");
  Write("service/broker/memory.max", "8192\n");
  EXPECT_EQ(Memory("1:cpu:/\n0::/service/broker\n"), 4096U);
  Write("memory.max", "1024\n");
  EXPECT_EQ(Memory("0::/\n"), 1024U);
}

TEST_F(MachineMemoryTest, TakesAPathWithColons) {
  Write("pods:runtime:1/memory.max", "4096\n");
  EXPECT_EQ(Memory("0::/pods:runtime:1\n"), 4096U);
  Write("memory/pods:runtime:1/memory.limit_in_bytes", "2048\n");
  EXPECT_EQ(Memory("4:memory:/pods:runtime:1\n"), 2048U);
}

TEST_F(MachineMemoryTest, IsNoMoreThanAResourceLimitGives) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "sanitizers need more memory than the limit";
#endif
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_DATA, &before), 0);
  const rlimit less{.rlim_cur = 1U << 30U, .rlim_max = before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_DATA, &less), 0);
  EXPECT_EQ(Memory(""), 1U << 30U);
  setrlimit(RLIMIT_DATA, &before);
}

TEST_F(MachineMemoryTest, KnowsVersionOne) {
  Write("memory/service/broker/memory.limit_in_bytes", "2048\n");
  EXPECT_EQ(Memory("4:memory:/service/broker\n0::/\n"), 2048U);
}

class MachineCpusTest : public GroupsTest {
 protected:
  // With an affinity of all CPUs, of which there may be one alone.
  std::size_t Cpus(std::string_view groups_of_process) {
    Write("process", groups_of_process);
    return MachineCpus(groups_ / "process", groups_);
  }
};

TEST_F(MachineCpusTest, AreThoseOfTheAffinityWithoutALimit) {
  cpu_set_t before, one;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  EXPECT_EQ(Cpus(""), static_cast<std::size_t>(CPU_COUNT(&before)));
  Write("service/cpu.max", "max 100000\n");
  EXPECT_EQ(Cpus("0::/service\n"), static_cast<std::size_t>(CPU_COUNT(&before)));
  int first = 0;
  while (!CPU_ISSET(first, &before)) ++first;
  CPU_ZERO(&one);
  CPU_SET(first, &one);
  ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
  EXPECT_EQ(Cpus(""), 1U);
  sched_setaffinity(0, sizeof before, &before);
}

TEST_F(MachineCpusTest, AreTheLeastQuotaOfTheGroupsThatTheProcessIsIn) {
  const std::size_t all = Cpus("");
  Write("service/cpu.max", "50000 100000\n");
  Write("service/broker/cpu.max", "6400000 100000\n");
  EXPECT_EQ(Cpus("0::/service/broker\n"), 1U) << "half a CPU is one";
  EXPECT_EQ(Cpus("0::/service/other\n"), 1U) << "the group around it has the quota";
  EXPECT_EQ(Cpus("0::/elsewhere\n"), all);
  Write("other/cpu.max", "110000 100000\n");
  EXPECT_EQ(Cpus("0::/other\n"), std::min<std::size_t>(all, 2));
}

TEST_F(MachineCpusTest, KnowVersionOne) {
  const std::size_t all = Cpus("");
  Write("cpu/service/cpu.cfs_period_us", "100000\n");
  Write("cpu/service/cpu.cfs_quota_us", "-1\n");
  EXPECT_EQ(Cpus("4:cpu,cpuacct:/service\n"), all);
  Write("cpu/service/cpu.cfs_quota_us", "90000\n");
  EXPECT_EQ(Cpus("4:cpu,cpuacct:/service\n0::/\n"), 1U);
  EXPECT_EQ(Cpus("4:cpuset:/service\n"), all);
}

TEST(JsonText, EscapesWhatJsonDoesNotTake) {
  EXPECT_EQ(Json(""), R"("")");
  EXPECT_EQ(Json("plain text"), R"("plain text")");
  EXPECT_EQ(Json("a\"b\\c"), R"("a\"b\\c")");
  EXPECT_EQ(Json("a\nb\rc\td"), R"("a\nb\rc\td")");
  EXPECT_EQ(Json(std::string_view("\0\x01\x1b\x7f", 4)), "\"\\u0000\\u0001\\u001b\\u007f\"");
}

TEST(JsonText, LeavesUtf8Alone) {
  for (const char* text :
       {"\xc2\xa0", "\xc3\xa9", "\xe0\xa0\x80", "\xe2\x82\xac", "\xed\x9f\xbf", "\xee\x80\x80",
        "\xf0\x90\x80\x80", "\xf0\x9f\x90\x87", "\xf4\x8f\xbf\xbf"}) {
    const std::string quoted = Json(text);
    EXPECT_EQ(quoted.substr(1, quoted.size() - 2), text);
  }
}

TEST(JsonText, EscapesWhatChangesATerminal) {
  EXPECT_EQ(Json("a\xc2\x9b"
                 "2J"),
            R"("a\u009b2J")");
  EXPECT_EQ(Json("evil\xe2\x80\xaegpj\xe2\x81\xa9"), R"("evil\u202egpj\u2069")");
  EXPECT_EQ(Json("\xd8\x9c\xe2\x80\xa8\xef\xbb\xbf"), R"("\u061c\u2028\ufeff")");
}

TEST(JsonText, ReplacesWhatIsNoUtf8ByteByByte) {
  EXPECT_EQ(Json("a\x80z"), R"("a\ufffdz")");
  EXPECT_EQ(Json("\xff\xfe"), R"("\ufffd\ufffd")");
  EXPECT_EQ(Json("\xc3"), R"("\ufffd")");
  EXPECT_EQ(Json("\xc3("), R"("\ufffd(")");
  EXPECT_EQ(Json("\xc0\xaf"), R"("\ufffd\ufffd")");            // overlong
  EXPECT_EQ(Json("\xe0\x9f\xbf"), R"("\ufffd\ufffd\ufffd")");  // overlong
  EXPECT_EQ(Json("\xed\xa0\x80"), R"("\ufffd\ufffd\ufffd")");  // surrogate
  EXPECT_EQ(Json("\xf0\x8f\xbf\xbf"), R"("\ufffd\ufffd\ufffd\ufffd")");
  EXPECT_EQ(Json("\xf4\x90\x80\x80"), R"("\ufffd\ufffd\ufffd\ufffd")");
}

const std::vector<LogField> kFields = {
    {"client", "127.0.0.1"}, {"connection", std::uint64_t{7}}, {"error", "no \"space\"\nleft"}};

TEST(TextLine, QuotesWhatIsNoPlainWord) {
  EXPECT_EQ(TextLine("refused", kFields),
            R"(refused client=127.0.0.1 connection=7 error="no \"space\"\nleft")");
  const std::vector<LogField> odd = {{"a", ""}, {"b", "x=y"}, {"c", "\\"}, {"d", "\xff"}};
  EXPECT_EQ(TextLine("e", odd), "e a=\"\" b=\"x=y\" c=\"\\\\\" d=\"\\ufffd\"");
}

TEST(TextLine, StaysOneLine) { EXPECT_EQ(TextLine("a\nb\x1b[1m", {}), "a?b?[1m"); }

TEST(JsonMembers, NamesEventAndFields) {
  EXPECT_EQ(
      JsonMembers("refused", kFields),
      R"("event":"refused","client":"127.0.0.1","connection":7,"error":"no \"space\"\nleft")");
}

TEST(Levels, HaveNames) {
  for (const char* name : {"trace", "debug", "info", "warn", "error", "critical", "off"}) {
    EXPECT_EQ(NameOf(LogLevelNamed(name)), name);
  }
  EXPECT_EQ(GearmandNameOf(LogLevel::kWarning), "WARNING");
}

std::size_t Admitted(LogLimiter& limiter, std::string_view kind, std::size_t lines) {
  std::size_t admitted = 0;
  for (std::size_t i = 0; i < lines; ++i) admitted += limiter.Admit(kind) ? 1 : 0;
  return admitted;
}

TEST(LogLimiter, AdmitsABurstOfEachKind) {
  LogLimiter limiter;
  EXPECT_EQ(Admitted(limiter, "a", 1000), LogLimiter::kBurst);
  EXPECT_EQ(Admitted(limiter, "b", 5), 5U);
}

TEST(LogLimiter, TellsOnceWhatWasSuppressed) {
  LogLimiter limiter;
  Admitted(limiter, "a", LogLimiter::kBurst + 7);
  Admitted(limiter, "b", 1);
  const auto suppressed = limiter.Refill();
  ASSERT_EQ(suppressed.size(), 1U);
  EXPECT_EQ(suppressed[0].kind, "a");
  EXPECT_EQ(suppressed[0].lines, 7U);
  EXPECT_TRUE(limiter.Refill().empty());
}

TEST(LogLimiter, RefillsUpToABurst) {
  LogLimiter limiter;
  Admitted(limiter, "a", 1000);
  limiter.Refill();
  EXPECT_EQ(Admitted(limiter, "a", 1000), LogLimiter::kRefill);
  for (int i = 0; i < 1000; ++i) limiter.Refill();
  EXPECT_EQ(Admitted(limiter, "a", 1000), LogLimiter::kBurst);
}

// --- LogQueue ------------------------------------------------------------------------------------

LogQueue::Line LineOf(std::string text) {
  return {std::chrono::system_clock::now(), LogLevel::kInfo, std::move(text)};
}

TEST(LogQueue, WritesAtOnceUntilItIsStarted) {
  std::string written;
  LogQueue queue([&](const LogQueue::Line& line) { written += line.text; });
  EXPECT_TRUE(queue.Push(LineOf("a")));
  EXPECT_EQ(written, "a");
}

TEST(LogQueue, NobodyWaitsForAWriterThatHangs) {
  const auto hangs = std::make_shared<std::mutex>();
  const auto written = std::make_shared<std::atomic<std::size_t>>(0);
  LogQueue queue([hangs, written](const LogQueue::Line& line) {
    const std::lock_guard lock(*hangs);
    *written += line.text.size();
  });
  std::size_t pushed = 0, dropped = 0;
  {
    const std::lock_guard hang(*hangs);
    queue.Start();
    for (int i = 0; i < 100; ++i) {
      (queue.Push(LineOf(std::string(100'000, 'x'))) ? pushed : dropped) += 1;
    }
    queue.Drain(std::chrono::milliseconds(1));
    EXPECT_GT(pushed, 10U);
    EXPECT_LE(pushed, LogQueue::kMaxBytes / 100'000 + 1);
    EXPECT_EQ(pushed + dropped, 100U);
  }
  queue.Drain(std::chrono::minutes(1));
  EXPECT_EQ(*written, pushed * 100'000);
  EXPECT_TRUE(queue.Push(LineOf("more")));
}

}  // namespace
}  // namespace gearstalk
