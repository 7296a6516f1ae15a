#include "proto_gearman/packet.h"

#include <gtest/gtest.h>

#include <string>

#include "proto_gearman/commands.h"
#include "tests/proto_gearman/world.h"

namespace gearstalk::gearman {
namespace {

using namespace std::literals;

constexpr Shape kOne{.arguments = 1};
constexpr Shape kThree{.arguments = 3};
constexpr Shape kTwoAndData{.arguments = 2, .data = true};
constexpr Shape kLenientOneAndData{.arguments = 1, .data = true, .lenient = true};
constexpr Shape kLenientThree{.arguments = 3, .data = false, .lenient = true};

Parsed Cut(std::string_view payload, const Shape& shape, Arguments& arguments) {
  return ParseArguments(payload, static_cast<std::uint32_t>(payload.size()), shape, arguments);
}

TEST(PacketHeader, EveryTypeIsRead) {
  for (std::uint32_t type = 1; type < kPacketTypes; ++type) {
    Header header{};
    ASSERT_EQ(ParseHeader(Raw(kRequest, type, 0x01020304), header), Parsed::kComplete);
    EXPECT_TRUE(header.request);
    EXPECT_EQ(static_cast<std::uint32_t>(header.type), type);
    EXPECT_EQ(header.size, 0x01020304U);
  }
}

TEST(PacketHeader, EveryPrefixNeedsMore) {
  const std::string whole = Raw(kResponse, 42, 0xffffffff);
  Header header{};
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_EQ(ParseHeader(whole.substr(0, size), header), Parsed::kNeedMore) << size;
  }
  EXPECT_EQ(ParseHeader(whole, header), Parsed::kComplete);
  EXPECT_FALSE(header.request);
  EXPECT_EQ(header.size, 0xffffffffU);
}

TEST(PacketHeader, UnknownTypesAreMalformed) {
  Header header{};
  for (std::uint32_t type : {0U, 43U, 44U, 0x7fffffffU, 0x80000000U, 0x80000001U, 0xffffffffU}) {
    EXPECT_EQ(ParseHeader(Raw(kRequest, type, 0), header), Parsed::kMalformed) << type;
  }
}

TEST(PacketHeader, WrongMagicIsMalformedAtItsFirstWrongByte) {
  Header header{};
  EXPECT_EQ(ParseHeader("\0X"s, header), Parsed::kMalformed);
  EXPECT_EQ(ParseHeader("\0REX"s, header), Parsed::kMalformed);
  EXPECT_EQ(ParseHeader("\0reQ"s, header), Parsed::kMalformed);
  EXPECT_EQ(ParseHeader("PUT"s, header), Parsed::kMalformed);
}

TEST(PacketArguments, LastOneIsDelimitedByTheSize) {
  Arguments arguments;
  ASSERT_EQ(Cut("H:test:1\0005\00010"sv, kThree, arguments), Parsed::kComplete);
  EXPECT_EQ(arguments.at[0], "H:test:1");
  EXPECT_EQ(arguments.at[1], "5");
  EXPECT_EQ(arguments.at[2], "10");
  EXPECT_EQ(arguments.size, 13U);
}

TEST(PacketArguments, LastOneMayHoldNuls) {
  Arguments arguments;
  ASSERT_EQ(Cut("f\0g\0"sv, kOne, arguments), Parsed::kComplete);
  EXPECT_EQ(arguments.at[0], "f\0g\0"s);
}

TEST(PacketArguments, DataNeedNotBeThere) {
  Arguments arguments;
  ASSERT_EQ(ParseArguments("f\0u\0da"sv, 4000000000U, kTwoAndData, arguments), Parsed::kComplete);
  EXPECT_EQ(arguments.at[0], "f");
  EXPECT_EQ(arguments.at[1], "u");
  EXPECT_EQ(arguments.size, 4U);
}

TEST(PacketArguments, EveryPrefixOfTheArgumentsNeedsMore) {
  constexpr std::string_view payload = "function\0unique\0data"sv;
  Arguments arguments;
  for (std::size_t size = 0; size < 16; ++size) {
    EXPECT_EQ(ParseArguments(payload.substr(0, size), 20, kTwoAndData, arguments),
              Parsed::kNeedMore)
        << size;
  }
  EXPECT_EQ(ParseArguments(payload.substr(0, 16), 20, kTwoAndData, arguments), Parsed::kComplete);
  for (std::size_t size = 0; size < payload.size(); ++size) {
    EXPECT_EQ(ParseArguments(payload.substr(0, size), 20, kThree, arguments), Parsed::kNeedMore)
        << size;
  }
}

TEST(PacketArguments, NulsBehindTheDeclaredLengthAreNotLookedAt) {
  constexpr std::string_view bytes = "function\0unique\0data"sv;
  Arguments arguments;
  for (std::uint32_t declared = 0; declared < 16; ++declared) {
    EXPECT_EQ(ParseArguments(bytes, declared, kTwoAndData, arguments), Parsed::kMalformed)
        << declared;
  }
  EXPECT_EQ(ParseArguments(bytes, 16, kTwoAndData, arguments), Parsed::kComplete);
}

TEST(PacketArguments, NothingIsAnEmptyArgument) {
  Arguments arguments;
  EXPECT_EQ(Cut("", kOne, arguments), Parsed::kComplete);
  EXPECT_EQ(arguments.at[0], "");
  EXPECT_EQ(Cut("", kThree, arguments), Parsed::kMalformed);
  EXPECT_EQ(Cut("", {}, arguments), Parsed::kComplete);
}

TEST(PacketArguments, LenientOnesMayEndEarly) {
  Arguments arguments;
  ASSERT_EQ(Cut("H:test:1", kLenientOneAndData, arguments), Parsed::kComplete);
  EXPECT_EQ(arguments.at[0], "H:test:1");
  EXPECT_EQ(arguments.size, 8U);
  ASSERT_EQ(Cut("H:test:1\0007"sv, kLenientThree, arguments), Parsed::kComplete);
  EXPECT_EQ(arguments.at[0], "H:test:1");
  EXPECT_EQ(arguments.at[1], "7");
  EXPECT_EQ(arguments.at[2], "");
  ASSERT_EQ(Cut("H:test:1", kLenientThree, arguments), Parsed::kComplete);
  EXPECT_EQ(arguments.at[0], "H:test:1");
  EXPECT_EQ(arguments.at[1], "");
}

TEST(PacketArguments, LenientOnesWaitForTheirDeclaredBytes) {
  Arguments arguments;
  EXPECT_EQ(ParseArguments("H:test:1", 9, kLenientOneAndData, arguments), Parsed::kNeedMore);
  EXPECT_EQ(ParseArguments("H:test:1\0"sv, 9, kLenientOneAndData, arguments), Parsed::kComplete);
  EXPECT_EQ(arguments.at[0], "H:test:1");
}

TEST(PacketArguments, MoreThanTheLimitIsMalformed) {
  Arguments arguments;
  const std::string longest(kMaxArgumentBytes, 'x');
  EXPECT_EQ(Cut(longest, kOne, arguments), Parsed::kComplete);
  EXPECT_EQ(Cut(longest + "x", kOne, arguments), Parsed::kMalformed);
  EXPECT_EQ(ParseArguments("", kMaxArgumentBytes + 1, kOne, arguments), Parsed::kMalformed);
  const std::string fits = std::string(kMaxArgumentBytes - 2, 'f') + "\0\0"s;
  EXPECT_EQ(Cut(fits + "data", kTwoAndData, arguments), Parsed::kComplete);
  EXPECT_EQ(Cut("f" + fits + "data", kTwoAndData, arguments), Parsed::kMalformed);
}

TEST(PacketCommands, EveryTypeHasTheShapeOfItsRow) {
  for (std::uint32_t type = 1; type < kPacketTypes; ++type) {
    const Command& command = CommandOf(static_cast<PacketType>(type));
    EXPECT_EQ(command.name.empty(), type == 5) << type;
    EXPECT_LE(command.shape.arguments, kMaxArguments) << command.name;
    EXPECT_TRUE(!command.workload || command.shape.data) << command.name;
  }
}

TEST(PacketWriting, PartsAreJoinedByNuls) {
  Output out;
  AppendPacket(out, PacketType::kNoJob, {});
  AppendPacket(out, PacketType::kJobCreated, {"H:test:1"});
  AppendPacket(out, PacketType::kWorkComplete, {"H:test:1", ""});
  EXPECT_EQ(out.TakeAll(),
            "\0RES\0\0\0\x0a\0\0\0\0"
            "\0RES\0\0\0\x08\0\0\0\x08H:test:1"
            "\0RES\0\0\0\x0d\0\0\0\x09H:test:1\0"s);
}

TEST(PacketWriting, LongPartsAreWrittenToo) {
  Output out;
  for (std::size_t size : {4000U, 4070U, 4074U, 4075U, 4084U, 5000U, 70000U}) {
    const std::string data(size, 'x');
    AppendPacket(out, PacketType::kWorkData, {"H:test:1", data});
    EXPECT_EQ(out.TakeAll(), Res(PacketType::kWorkData, {"H:test:1", data})) << size;
  }
}

TEST(PacketWriting, DataMayFollow) {
  Output out;
  AppendPacketBeforeData(out, PacketType::kJobAssign, {"H:test:1", "f"}, 4);
  out.Append("data");
  EXPECT_EQ(out.TakeAll(), Res(PacketType::kJobAssign, {"H:test:1", "f", "data"}));
}

}  // namespace
}  // namespace gearstalk::gearman
