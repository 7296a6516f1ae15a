#include "broker/engine/incoming_job.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "broker/engine/slab.h"

namespace gearstalk {
namespace {

constexpr std::uint32_t kAtOnce = kArrivesWhole;

std::string Pattern(std::size_t size) {
  std::string text(size, '\0');
  for (std::size_t i = 0; i < size; ++i) text[i] = static_cast<char>('a' + i % 23);
  return text;
}

TEST(IncomingJob, TakesBodyAndCrlf) {
  IncomingJob incoming(5, {}, 2);
  EXPECT_EQ(incoming.missing(), 7U);
  EXPECT_EQ(incoming.Add("hello\r\nrest"), 7U);
  ASSERT_TRUE(incoming.complete());
  EXPECT_EQ(incoming.Add("more"), 0U);
  const JobPtr job = incoming.Take();
  EXPECT_EQ(job->body(), "hello");
  EXPECT_EQ(BodyCrlf(*job), "hello\r\n");
}

TEST(IncomingJob, ShowsWhatCameInsteadOfCrlf) {
  IncomingJob incoming(2, {}, 2);
  incoming.Add("abxy");
  EXPECT_EQ(BodyCrlf(*incoming.Take()), "abxy");
}

TEST(IncomingJob, AddsCrlfWhereTheWireHasNone) {
  IncomingJob incoming(5, "key", 0);
  EXPECT_EQ(incoming.Add("hello\r\n"), 5U);
  const JobPtr job = incoming.Take();
  EXPECT_EQ(BodyCrlf(*job), "hello\r\n");
  EXPECT_EQ(job->unique(), "key");
}

TEST(IncomingJob, MayBeEmpty) {
  IncomingJob gearman(0, "k", 0);
  EXPECT_TRUE(gearman.complete());
  const JobPtr job = gearman.Take();
  EXPECT_EQ(BodyCrlf(*job), "\r\n");
  EXPECT_EQ(job->unique(), "k");

  IncomingJob beanstalk(0, {}, 2);
  EXPECT_FALSE(beanstalk.complete());
  EXPECT_EQ(beanstalk.Add("\r\n"), 2U);
  EXPECT_EQ(beanstalk.Take()->body(), "");
}

TEST(IncomingJob, ReservesNothingBeforeTheFirstByte) {
  IncomingJob incoming(UINT32_MAX, {}, 2);
  EXPECT_EQ(incoming.missing(), std::uint64_t{UINT32_MAX} + 2);
  EXPECT_TRUE(incoming.Space().empty());
  EXPECT_EQ(incoming.Add(""), 0U);
  EXPECT_TRUE(incoming.Space().empty());
}

TEST(IncomingJob, ReservesASmallBodyWithTheFirstByte) {
  IncomingJob incoming(kAtOnce, {}, 2);
  incoming.Add("a");
  EXPECT_EQ(incoming.Space().size(), kAtOnce + 1);  // the rest of the body, and CRLF
}

TEST(IncomingJob, DoublesWithWhatArrived) {
  DropSpareBlocks();
  IncomingJob incoming(10 * kAtOnce, {}, 2);
  const std::string body = Pattern(10 * kAtOnce) + "\r\n";
  std::string_view rest = body;
  rest.remove_prefix(incoming.Add(rest.substr(0, 1)));
  std::size_t arrived = 1;
  while (!incoming.complete()) {
    const std::span<char> space = incoming.Space();
    ASSERT_FALSE(space.empty());
    EXPECT_LE(arrived + space.size(), std::max<std::size_t>(kAtOnce, 2 * (arrived + 4096)));
    const std::string_view piece = rest.substr(0, std::min<std::size_t>(space.size(), 5000));
    std::copy(piece.begin(), piece.end(), space.begin());
    incoming.Filled(piece.size());
    rest.remove_prefix(piece.size());
    arrived += piece.size();
  }
  EXPECT_TRUE(rest.empty());
  EXPECT_TRUE(incoming.Space().empty());
  EXPECT_EQ(BodyCrlf(*incoming.Take()), body);
}

TEST(IncomingJob, KeepsItsBytesAtEverySizeAroundTheSteps) {
  for (const std::uint32_t size : {kAtOnce - 1, kAtOnce, kAtOnce + 1, 2 * kAtOnce - 2,
                                   2 * kAtOnce - 1, 2 * kAtOnce, 2 * kAtOnce + 1, 5 * kAtOnce}) {
    for (const std::uint32_t trailing : {0U, 2U}) {
      for (const std::size_t read :
           {std::size_t{1000}, std::size_t{kAtOnce}, std::size_t{1} << 20U}) {
        const std::string body = Pattern(size);
        const std::string sent = trailing == 0 ? body : body + "\r\n";
        IncomingJob incoming(size, "u", trailing);
        std::size_t at = 0;
        while (!incoming.complete()) at += incoming.Add(std::string_view(sent).substr(at, read));
        EXPECT_EQ(at, sent.size());
        const JobPtr job = incoming.Take();
        EXPECT_EQ(BodyCrlf(*job), body + "\r\n");
        EXPECT_EQ(job->unique(), "u");
      }
    }
  }
}

}  // namespace
}  // namespace gearstalk
