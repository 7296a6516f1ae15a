#include "broker/server/output.h"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

namespace gearstalk {
namespace {

// What may leave, in pieces of at most `max`; nothing is consumed.
std::string Peek(Output& out, Lsn durable, int max = 64) {
  std::vector<iovec> pieces(static_cast<std::size_t>(max));
  const int count = out.Gather(pieces.data(), max, durable);
  EXPECT_LE(count, max);
  std::string bytes;
  for (int i = 0; i < count; ++i) {
    const iovec& piece = pieces[static_cast<std::size_t>(i)];
    EXPECT_GT(piece.iov_len, 0U);
    bytes.append(static_cast<const char*>(piece.iov_base), piece.iov_len);
  }
  return bytes;
}

// Sends all that may leave, `step` bytes a time.
std::string Drain(Output& out, Lsn durable, std::size_t step) {
  std::string sent;
  for (std::string some = Peek(out, durable); !some.empty(); some = Peek(out, durable)) {
    some.resize(std::min(step, some.size()));
    sent += some;
    out.Consume(some.size());
  }
  return sent;
}

// Counts how often what it pins was let go.
class Pinned {
 public:
  Pin NewPin() {
    return Pin(this, [](void* self) { ++static_cast<Pinned*>(self)->dropped_; });
  }
  int dropped() const { return dropped_; }

 private:
  int dropped_ = 0;
};

TEST(Output, IsEmptyAtFirst) {
  Output out;
  EXPECT_TRUE(out.empty());
  EXPECT_EQ(out.size(), 0U);
  EXPECT_EQ(Peek(out, 0), "");
}

TEST(Output, KeepsTheOrder) {
  Output out;
  out.Append("one ");
  char* room = out.Prepare(3);
  std::copy_n("two", 3, room);
  out.Commit(3);
  const std::string shared = " three";
  out.AppendShared(shared, Pin());
  out.Append(" four");
  EXPECT_EQ(out.size(), 18U);
  EXPECT_EQ(Peek(out, 0), "one two three four");
  EXPECT_EQ(out.TakeAll(), "one two three four");
  EXPECT_TRUE(out.empty());
}

TEST(Output, MayUseLessThanItPrepared) {
  Output out;
  std::copy_n("ab", 2, out.Prepare(Output::kMaxPrepare));
  out.Commit(2);
  std::copy_n("c", 1, out.Prepare(1));
  out.Commit(1);
  EXPECT_EQ(out.TakeAll(), "abc");
}

TEST(Output, GathersSmallRepliesInOnePiece) {
  Output out;
  for (int i = 0; i < 100; ++i) out.Append("reply\r\n");
  EXPECT_EQ(Peek(out, 0, 1).size(), 700U);
}

TEST(Output, TakesMoreThanAChunk) {
  Output out;
  std::string expected;
  for (int i = 0; i < 5000; ++i) {
    const std::string line = std::to_string(i) + "\r\n";
    out.Append(line);
    expected += line;
  }
  out.Append(std::string(100'000, 'x'));
  expected += std::string(100'000, 'x');
  EXPECT_EQ(out.size(), expected.size());
  EXPECT_EQ(Drain(out, 0, 1000), expected);
}

TEST(Output, GivesNoMorePiecesThanAsked) {
  Output out;
  const std::string a = "aaa", b = "bb", c = "c";
  for (const std::string* text : {&a, &b, &c}) out.AppendShared(*text, Pin());
  EXPECT_EQ(Peek(out, 0, 1), "aaa");
  EXPECT_EQ(Peek(out, 0, 2), "aaabb");
  EXPECT_EQ(Peek(out, 0, 3), "aaabbc");
}

TEST(Output, DropsAPinWhenItsLastByteIsSent) {
  Pinned pinned;
  const std::string body = "body";
  Output out;
  out.Append("head ");
  out.AppendShared(body, pinned.NewPin());
  out.Append(" tail");
  out.Consume(8);
  EXPECT_EQ(pinned.dropped(), 0);
  out.Consume(1);
  EXPECT_EQ(pinned.dropped(), 1);
  EXPECT_EQ(out.TakeAll(), " tail");
  EXPECT_EQ(pinned.dropped(), 1);
}

TEST(Output, DropsPinsWithItsEnd) {
  Pinned pinned;
  const std::string body = "body";
  {
    Output out;
    out.AppendShared(body, pinned.NewPin());
    out.AppendShared(body, pinned.NewPin());
    out.Consume(5);
    EXPECT_EQ(pinned.dropped(), 1);
  }
  EXPECT_EQ(pinned.dropped(), 2);
}

TEST(Output, DropsPinsWhenAllIsSentAtOnce) {
  Pinned pinned;
  const std::string body = "body";
  Output out;
  out.AppendShared(body, pinned.NewPin());
  out.Consume(4);
  EXPECT_EQ(pinned.dropped(), 1);
}

TEST(Output, SendsSharedBytesFromWhereTheyAre) {
  Output out;
  const std::string body(10'000, 'b');
  out.AppendShared(body, Pin());
  iovec piece;
  ASSERT_EQ(out.Gather(&piece, 1, 0), 1);
  EXPECT_EQ(piece.iov_base, body.data());
  EXPECT_EQ(piece.iov_len, body.size());
}

TEST(OutputGate, HoldsWhatIsBehindIt) {
  Output out;
  out.Append("before ");
  out.HoldUntil(5);
  out.Append("behind");
  EXPECT_EQ(Peek(out, 0), "before ");
  EXPECT_EQ(Peek(out, 4), "before ");
  EXPECT_EQ(Peek(out, 5), "before behind");
}

TEST(OutputGate, HoldsAnEmptyOutput) {
  Output out;
  out.HoldUntil(1);
  out.Append("a");
  EXPECT_EQ(Peek(out, 0), "");
  EXPECT_EQ(Peek(out, 1), "a");
}

TEST(OutputGate, LaterBytesStayBehindEarlierGates) {
  Output out;
  out.HoldUntil(5);
  out.Append("a");
  out.HoldUntil(3);
  out.Append("b");
  out.HoldUntil(7);
  out.Append("c");
  out.HoldUntil(0);
  out.Append("d");
  EXPECT_EQ(Peek(out, 3), "");
  EXPECT_EQ(Peek(out, 5), "ab");
  EXPECT_EQ(Peek(out, 6), "ab");
  EXPECT_EQ(Peek(out, 7), "abcd");
}

TEST(OutputGate, HoldsAgainAfterAllWasSent) {
  Output out;
  out.HoldUntil(1);
  out.Append("a");
  EXPECT_EQ(Drain(out, 1, 1), "a");
  EXPECT_TRUE(out.empty());
  out.HoldUntil(2);
  out.Append("b");
  EXPECT_EQ(Peek(out, 1), "");
  EXPECT_EQ(Drain(out, 2, 1), "b");
}

TEST(Output, TakesAllOfAnother) {
  const std::string body(10'000, 'b');
  Output out, other, none;
  out.Append("first ");
  other.Append(std::string(20'000, 'a'));
  other.AppendShared(body, Pin());
  other.Consume(1);
  out.Append(std::move(other));
  out.Append(std::move(none));
  out.Append(" last");
  EXPECT_EQ(out.size(), 6U + 29'999 + 5);
  EXPECT_EQ(out.TakeAll(), "first " + std::string(19'999, 'a') + body + " last");
}

TEST(Output, GivesNoMoreThanMayBeSentInOneGo) {
  Output out;
  const std::string body(Output::kMaxGather, 'b');
  out.Append("first");
  out.AppendShared(body, Pin());
  EXPECT_EQ(Peek(out, 0).size(), Output::kMaxGather);
  out.Consume(Output::kMaxGather);
  EXPECT_EQ(Peek(out, 0).size(), 5U);
}

TEST(OutputGate, StaysShutWhenWhatWasBeforeItIsSent) {
  Output out;
  out.Append("a");
  out.HoldUntil(2);
  EXPECT_EQ(Drain(out, 1, 1), "a");
  out.Append("b");
  EXPECT_EQ(Peek(out, 1), "");
  EXPECT_EQ(Peek(out, 2), "b");
}

TEST(OutputGate, CutsPiecesWhereItStands) {
  Output out;
  const std::string body(5000, 'b');
  out.AppendShared(body, Pin());
  out.HoldUntil(1);
  out.AppendShared(body, Pin());
  EXPECT_EQ(Peek(out, 0).size(), 5000U);
  out.Consume(1234);
  EXPECT_EQ(Peek(out, 0).size(), 5000U - 1234);
  EXPECT_EQ(Peek(out, 1).size(), 10'000U - 1234);
}

// A stream with small replies, long ones, shared bodies and gates, and what may leave at each
// position of the journal.
struct Stream {
  static constexpr Lsn kLast = 6;

  Stream() {
    for (Lsn lsn = 1; lsn <= kLast; ++lsn) {
      Add(std::string(lsn * 7, static_cast<char>('a' + lsn)));
      may_leave.push_back(text.size());
      out.HoldUntil(lsn);
      Add(std::string(300, static_cast<char>('A' + lsn)));
      text += shared;
      out.AppendShared(shared, pinned.NewPin());
    }
    Add(std::string(9000, 'z'));
    may_leave.push_back(text.size());
  }
  void Add(const std::string& bytes) {
    text += bytes;
    out.Append(bytes);
  }

  Pinned pinned;
  const std::string shared = std::string(500, '.') + "|";
  std::string text;
  std::vector<std::size_t> may_leave;  // by what is durable
  Output out;
};

TEST(OutputStream, EveryPositionOfTheJournalLetsItsBytesLeave) {
  for (Lsn durable = 0; durable <= Stream::kLast; ++durable) {
    Stream stream;
    EXPECT_EQ(Drain(stream.out, durable, 333), stream.text.substr(0, stream.may_leave[durable]));
    EXPECT_EQ(stream.out.size(), stream.text.size() - stream.may_leave[durable]);
  }
}

TEST(OutputStream, MayBeConsumedUpToEveryByte) {
  const std::size_t size = Stream().text.size();
  for (std::size_t cut = 0; cut <= size; ++cut) {
    Stream stream;
    stream.out.Consume(cut);
    ASSERT_EQ(stream.out.size(), size - cut);
    ASSERT_EQ(Peek(stream.out, Stream::kLast), stream.text.substr(cut)) << cut;
    ASSERT_EQ(stream.out.TakeAll(), stream.text.substr(cut)) << cut;
    ASSERT_EQ(stream.pinned.dropped(), static_cast<int>(Stream::kLast)) << cut;
  }
}

TEST(OutputStream, GatesOpenOneByOneWhateverTheStep) {
  for (const std::size_t step : {1, 2, 3, 5, 64, 301, 4096, 100'000}) {
    Stream stream;
    std::string sent;
    for (Lsn durable = 0; durable <= Stream::kLast; ++durable) {
      sent += Drain(stream.out, durable, step);
      ASSERT_EQ(sent, stream.text.substr(0, stream.may_leave[durable])) << step << " " << durable;
    }
    EXPECT_TRUE(stream.out.empty());
  }
}

TEST(OutputStream, GoesOnForEver) {
  Output out;
  Pinned pinned;
  const std::string body(Output::kShareFrom, 'b');
  std::size_t appended = 0, sent = 0;
  for (int i = 0; i < 3000; ++i) {
    out.Append("RESERVED 1 4096\r\n");
    out.AppendShared(body, pinned.NewPin());
    appended += 17 + body.size();
    std::string some = Peek(out, 0, 3);
    some.resize(std::min<std::size_t>(some.size(), 4000));
    out.Consume(some.size());
    sent += some.size();
    ASSERT_EQ(out.size(), appended - sent);
  }
  sent += Drain(out, 0, 5000).size();
  EXPECT_EQ(sent, appended);
  EXPECT_EQ(pinned.dropped(), 3000);
}

TEST(Pin, MovesItsDuty) {
  Pinned pinned;
  {
    Pin first = pinned.NewPin();
    Pin second(std::move(first));
    Pin third = pinned.NewPin();
    third = std::move(second);
    EXPECT_EQ(pinned.dropped(), 1);
    third = Pin();
    EXPECT_EQ(pinned.dropped(), 2);
  }
  EXPECT_EQ(pinned.dropped(), 2);
}

TEST(Output, IsGivenUpPieceByPiece) {
  Output out;
  for (int i = 0; i < 10; ++i) out.AppendShared("shared", {});
  EXPECT_FALSE(out.Discard(4));
  EXPECT_EQ(36U, out.size());
  EXPECT_TRUE(out.Discard(10));
  EXPECT_TRUE(out.Discard(1));
}

TEST(Output, TakesLittleWhileManyOthersHaveSome) {
  const auto pieces_of = [](Output& out) {
    std::array<iovec, 8> pieces;
    for (int i = 0; i < 3; ++i) out.Append(std::string(600, 'x'));
    return out.Gather(pieces.data(), pieces.size(), 0);
  };
  std::vector<Output> others(2000);
  EXPECT_EQ(1, pieces_of(others.front()));
  for (Output& other : others) other.Append("x");
  Output out;
  EXPECT_EQ(2, pieces_of(out));
  EXPECT_EQ(std::string(1800, 'x'), out.TakeAll());
}

TEST(Output, ForgetsGatesThatAreOpen) {
  Output out;
  iovec pieces[4];
  for (Lsn lsn = 1; lsn <= 10'000; ++lsn) {
    out.HoldUntil(lsn);
    out.Append("held");
    // The journal is always two behind, so there is always a gate that is shut.
    out.Gather(pieces, 4, lsn > 2 ? lsn - 2 : 0);
    if (lsn > 2) out.Consume(4);
  }
  EXPECT_LT(out.gates(), 200U);
}

TEST(Output, KnowsTheMemoryOfAll) {
  const std::size_t before = Output::Memory();
  {
    Output out;
    out.Append(std::string(10'000'000, 'x'));
    EXPECT_GE(Output::Memory() - before, 7'000'000U) << "some was pooled";
  }
  EXPECT_LT(Output::Memory(), before + 3'000'000U) << "but for what is pooled";
}

}  // namespace
}  // namespace gearstalk
