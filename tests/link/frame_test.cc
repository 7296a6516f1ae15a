// Frames of a link.

#include "broker/link/frame.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "broker/link/payloads.h"

namespace gearstalk::link {
namespace {

std::string FrameOf(std::uint32_t stream, Kind kind, std::string_view payload) {
  std::string out(kHead, '\0');
  StoreHead(out.data(), stream, kind, payload.size());
  return out.append(payload);
}

TEST(Frames, AreWhatWasSent) {
  const std::string bytes = FrameOf(7, Kind::kData, "hello") + "next";
  const Decoded decoded = Decode(bytes);
  ASSERT_EQ(decoded.state, Decoded::State::kFrame);
  EXPECT_EQ(decoded.size, kHead + 5);
  EXPECT_EQ(decoded.frame.stream, 7U);
  EXPECT_EQ(decoded.frame.kind, Kind::kData);
  EXPECT_EQ(decoded.frame.payload, "hello");
}

TEST(Frames, AskForWhatIsMissing) {
  const std::string bytes = FrameOf(7, Kind::kEnd, "hello");
  for (std::size_t cut = 0; cut < bytes.size(); ++cut) {
    const Decoded decoded = Decode(std::string_view(bytes).substr(0, cut));
    EXPECT_EQ(decoded.state, Decoded::State::kMore) << cut;
    EXPECT_EQ(decoded.size, cut < kHead ? kHead : bytes.size()) << cut;
  }
}

TEST(Frames, ThatMakeNoSenseAreMalformed) {
  const std::string too_long = FrameOf(1, Kind::kData, std::string(kMaxData + 1, 'x'));
  for (const std::string& bytes :
       {FrameOf(1, static_cast<Kind>(0), ""), FrameOf(1, static_cast<Kind>(kLastKind + 1), ""),
        FrameOf(kMaxStream + 1, Kind::kEnd, ""), FrameOf(1, Kind::kData, ""),
        too_long.substr(0, kHead)}) {
    EXPECT_EQ(Decode(bytes).state, Decoded::State::kMalformed);
  }
  EXPECT_EQ(Decode(FrameOf(1, Kind::kData, std::string(kMaxData, 'x'))).state,
            Decoded::State::kFrame);
}

TEST(Payloads, AreWhatWasSent) {
  const auto opened = Encode(Open{.listener = 3, .port = 4730, .address = "abcd"});
  const auto open = DecodeOpen(opened);
  ASSERT_TRUE(open);
  EXPECT_EQ(open->listener, 3);
  EXPECT_EQ(open->port, 4730);
  EXPECT_EQ(open->address, "abcd");
  const auto was_reset = Encode(Reset{.trouble = Trouble::kSlow, .reason = "slow"});
  const auto reset = DecodeReset(was_reset);
  ASSERT_TRUE(reset);
  EXPECT_EQ(reset->trouble, Trouble::kSlow);
  EXPECT_EQ(reset->reason, "slow");
  const auto credit = DecodeCredit(Encode(Credit{.delivered = 5, .granted = 6}));
  ASSERT_TRUE(credit);
  EXPECT_EQ(credit->delivered, 5U);
  EXPECT_EQ(credit->granted, 6U);
  const auto counters = DecodeCounters(Encode(Counters{.ping = 1, .sent_bytes = 9}));
  ASSERT_TRUE(counters);
  EXPECT_EQ(counters->ping, 1U);
  EXPECT_EQ(counters->sent_bytes, 9U);
  Settings settings;
  settings.tls = true;
  settings.tls_uses = std::string("\0\1", 2);
  settings.key = "key";
  const auto read = DecodeSettings(Encode(settings));
  ASSERT_TRUE(read);
  EXPECT_TRUE(read->tls);
  EXPECT_EQ(read->tls_uses, settings.tls_uses);
  EXPECT_EQ(read->key, "key");
}

TEST(Payloads, ThatAreCutAreNone) {
  const auto none_when_cut = [](const std::string& payload, auto decode) {
    for (std::size_t cut = 0; cut < payload.size(); ++cut) {
      EXPECT_FALSE(decode(std::string_view(payload).substr(0, cut))) << cut;
    }
    EXPECT_TRUE(decode(payload));
    EXPECT_FALSE(decode(payload + "x"));
  };
  none_when_cut(Encode(Credit{}), DecodeCredit);
  none_when_cut(Encode(Counters{}), DecodeCounters);
  none_when_cut(EncodeClose(1), DecodeClose);
  none_when_cut(Encode(Settings{}), DecodeSettings);
}

}  // namespace
}  // namespace gearstalk::link
