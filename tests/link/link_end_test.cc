// Both ends of a link: what is added to one is taken from the other, through rings.

#include "broker/link/link_end.h"

#include <gtest/gtest.h>
#include <poll.h>

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "broker/base/stored_number.h"
#include "tests/link/link_ends.h"

namespace gearstalk::link {
namespace {

using Side = LinkEnd::Side;

bool HasBell(const LinkEnd& end, int milliseconds = 0) {
  pollfd look{.fd = end.fd(), .events = POLLIN, .revents = 0};
  return poll(&look, 1, milliseconds) > 0;
}

class Link : public ::testing::Test {
 protected:
  // Frames that have arrived at an end.
  static std::vector<std::string> Arrived(LinkEnd& end) {
    std::vector<std::string> frames;
    EXPECT_TRUE(end.Receive());
    for (Decoded next = end.Next(); next.state == Decoded::State::kFrame; next = end.Next()) {
      frames.push_back(std::to_string(next.frame.stream) + ":" + std::string(next.frame.payload));
    }
    end.Release();
    return frames;
  }

  std::array<LinkEnd, 2> ends_ = MakeEnds();
  LinkEnd &a_ = ends_[0], &b_ = ends_[1];
};

TEST_F(Link, JoinsWhatARoundHasForAStream) {
  a_.AddData(1, "RESERVED ");
  a_.AddData(1, "1 1\r\n");
  a_.AddData(2, "OK");
  a_.AddData(1, "x\r\n");
  EXPECT_TRUE(a_.Send());
  a_.AddData(1, "next");
  EXPECT_TRUE(a_.Send());
  EXPECT_EQ(Arrived(b_),
            (std::vector<std::string>{"1:RESERVED 1 1\r\n", "2:OK", "1:x\r\n", "1:next"}));
}

TEST_F(Link, CutsWhatIsTooLongForAFrame) {
  a_.AddData(5, std::string(kMaxData + 10, 'x'));
  EXPECT_TRUE(a_.Send());
  const std::vector<std::string> frames = Arrived(b_);
  ASSERT_EQ(frames.size(), 2U);
  EXPECT_EQ(frames[0].size(), 2 + kMaxData);
  EXPECT_EQ(frames[1], "5:" + std::string(10, 'x'));
}

TEST_F(Link, TakesWhatWasWrittenInPlace) {
  a_.AddData(1, "one ");
  const std::span<char> space = a_.Space(1000);
  ASSERT_EQ(space.size(), 1000U);
  std::copy_n("two", 3, space.data());
  a_.AddWritten(2, 3);
  a_.AddData(2, " three");
  a_.AddData(1, "four");
  EXPECT_TRUE(a_.Send());
  EXPECT_EQ(Arrived(b_), (std::vector<std::string>{"1:one ", "2:two three", "1:four"}));
}

TEST_F(Link, HasNoSpaceForMoreThanARing) {
  EXPECT_FALSE(a_.Space(Ring::kSize - kHead).empty());
  EXPECT_TRUE(a_.Space(Ring::kSize).empty());
  a_.AddData(1, std::string(Ring::kSize, 'x'));
  EXPECT_TRUE(a_.Space(1).empty());
}

TEST_F(Link, GivesNothingOverBeforeSend) {
  a_.Add(1, Kind::kEnd, {});
  EXPECT_TRUE(Arrived(b_).empty());
  EXPECT_TRUE(a_.Send());
  EXPECT_EQ(Arrived(b_).size(), 1U);
}

TEST_F(Link, CarriesAFrameThatIsLargerThanARing) {
  std::string large(kMaxPayload, '\0');
  for (std::size_t i = 0; i < large.size(); ++i) large[i] = static_cast<char>(i * 7 / 5);
  a_.Add(0, Kind::kReload, large);
  a_.AddData(1, "before");
  a_.Add(0, Kind::kReload, large);
  a_.AddData(1, "behind");
  std::vector<std::string> frames;
  for (int i = 0; i < 10'000 && frames.size() < 4; ++i) {
    ASSERT_TRUE(a_.Send());
    for (std::string& frame : Arrived(b_)) frames.push_back(std::move(frame));
  }
  ASSERT_EQ(frames.size(), 4U);
  EXPECT_EQ(frames[0], "0:" + large);
  EXPECT_EQ(frames[1], "1:before");
  EXPECT_EQ(frames[2], "0:" + large);
  EXPECT_EQ(frames[3], "1:behind");
  EXPECT_EQ(a_.waiting(), 0U);
}

TEST_F(Link, RingsForAnEndThatWaitsAlone) {
  EXPECT_TRUE(b_.more());
  EXPECT_TRUE(Arrived(b_).empty());
  EXPECT_FALSE(b_.more());
  a_.AddData(1, "one");
  EXPECT_TRUE(a_.Send());
  EXPECT_TRUE(HasBell(b_));
  a_.AddData(1, "two");
  EXPECT_TRUE(a_.Send());
  EXPECT_EQ(Arrived(b_), (std::vector<std::string>{"1:one", "1:two"}));
  EXPECT_FALSE(HasBell(b_));
}

TEST_F(Link, RingsWhenAFullLinkHasRoom) {
  EXPECT_TRUE(Arrived(a_).empty());
  for (int i = 0; i < 20; ++i) a_.AddData(1, std::string(kMaxData, 'x'));
  EXPECT_TRUE(a_.Send());
  EXPECT_FALSE(HasBell(a_));
  EXPECT_GT(a_.waiting(), kFullLink);
  EXPECT_EQ(Arrived(b_).size(), 4U);  // a share
  EXPECT_TRUE(b_.more());
  EXPECT_TRUE(HasBell(a_));
  std::size_t frames = 4;
  for (int i = 0; i < 100 && frames < 20; ++i) {
    EXPECT_TRUE(a_.Send());
    frames += Arrived(b_).size();
  }
  EXPECT_EQ(frames, 20U);
  EXPECT_EQ(a_.waiting(), 0U);
}

TEST_F(Link, WhatWasSaidBeforeTheEndIsHeard) {
  a_.AddData(1, "last words");
  EXPECT_TRUE(a_.Send());
  { const LinkEnd gone = std::move(a_); }
  EXPECT_EQ(Arrived(b_), (std::vector<std::string>{"1:last words"}));
  EXPECT_TRUE(b_.gone());
  EXPECT_FALSE(b_.Receive());
  EXPECT_FALSE(b_.Send());
}

TEST(LinkOfAnyEnd, IsLostWithHalfAFrame) {
  const LinkParts parts = MakeLink().value();
  LinkEnd end = std::move(LinkEnd::Open(parts.sockets[0], parts.memory, Side::kBroker).value());
  {
    AnyEnd any(parts, Side::kRouter);
    close(parts.memory);
    any.Say("half");
  }
  EXPECT_TRUE(end.Receive());
  EXPECT_EQ(end.Next().state, Decoded::State::kMore);
  EXPECT_FALSE(end.Receive());
}

// What the other process writes to the memory can end the link, and nothing else.
TEST(LinkOfAnyEnd, IsLostWithPositionsThatMakeNoSense) {
  for (const bool added : {false, true}) {
    const LinkParts parts = MakeLink().value();
    LinkEnd end = std::move(LinkEnd::Open(parts.sockets[0], parts.memory, Side::kBroker).value());
    AnyEnd any(parts, Side::kRouter);
    Ring sent = std::move(Ring::Map(parts.memory, 0).value());
    close(parts.memory);
    any.Say("x");
    EXPECT_TRUE(end.Receive());
    EXPECT_EQ(end.Next().state, Decoded::State::kMore);
    if (added) {
      any.state().added = Ring::kSize + 1;
      EXPECT_EQ(end.Next().state, Decoded::State::kMalformed);
      EXPECT_FALSE(end.Receive());
    } else {
      end.AddData(1, std::string(1000, 'x'));
      EXPECT_TRUE(end.Send());
      sent.state().taken = 5000;
      EXPECT_FALSE(end.Send());
    }
  }
}

// Both ends at once, each in its own thread, with bodies and with single bytes: every byte comes in
// its order, and nobody sleeps beside what he could take.
TEST(LinkOfTwoThreads, LosesNothing) {
  constexpr std::size_t kBytes = 24 << 20;
  std::array<LinkEnd, 2> ends = MakeEnds();
  const auto byte_at = [](std::size_t at) { return static_cast<char>(at * 31 + at / 4093); };
  const auto talk = [&](LinkEnd& end, std::size_t seed) {
    std::size_t said = 0, heard = 0;
    std::string piece;
    bool good = true;
    while (good && (said < kBytes || heard < kBytes)) {
      while (said < kBytes && end.waiting() < kFullLink) {
        seed = seed * 6364136223846793005U + 1442695040888963407U;
        const std::size_t size = seed >> 63 != 0 ? seed % 200'000 : seed % 40;
        piece.clear();
        for (std::size_t i = 0; i < std::min(size, kBytes - said); ++i) {
          piece.push_back(byte_at(said + i));
        }
        end.AddData(1, piece);
        said += piece.size();
        if ((seed >> 62 & 1) != 0) break;
      }
      good = end.Send();
      const bool full = end.waiting() >= kBusyLink;
      const bool waits = !end.more() && heard < kBytes && (said == kBytes || full);
      good = good && (!waits || HasBell(end, 20'000));
      good = good && end.Receive();
      for (Decoded next = end.Next(); next.state == Decoded::State::kFrame; next = end.Next()) {
        for (const char byte : next.frame.payload) good = good && byte == byte_at(heard++);
      }
      end.Release();
    }
    EXPECT_EQ(heard, kBytes);
  };
  std::thread other([&] { talk(ends[1], 2); });
  talk(ends[0], 1);
  other.join();
}

}  // namespace
}  // namespace gearstalk::link
