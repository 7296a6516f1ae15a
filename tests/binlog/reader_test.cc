// What a log may hold beside good records.

#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "broker/binlog/job_index.h"

namespace gearstalk::binlog {
namespace {

constexpr Time kNow = 1'800'000'000 * kSecond;

template <typename T>
void Append(std::string& out, T value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

// A record of version 7; an empty tube makes a short one.
std::string Record7(std::uint64_t id, State state, const std::string& tube = {},
                    const std::string& body = {}) {
  std::string out;
  Append(out, static_cast<std::int32_t>(tube.size()));
  out += tube;
  Append(out, id);
  Append(out, std::uint64_t{1024});
  for (const Time time : {Time{0}, 60 * kSecond}) Append(out, time);
  Append(out, static_cast<std::uint64_t>(tube.empty() ? 0 : body.size() + 2));
  for (const Time time : {kNow - kSecond, kNow + kSecond}) Append(out, time);
  out.append(20, '\0');
  Append(out, static_cast<std::uint32_t>(state));
  if (!tube.empty()) out += body + "\r\n";
  return out;
}

std::string File7(const std::string& records) { return std::string("\7\0\0\0", 4) + records; }

struct Read {
  std::size_t jobs;
  bool damaged;
  std::string notes;
};

Read ReadFiles(const std::vector<std::pair<std::uint64_t, std::string>>& files) {
  JobIndex index;
  for (const auto& [number, bytes] : files) {
    index.AddFile("binlog." + std::to_string(number), number, bytes);
  }
  index.Finish(kNow);
  std::string notes;
  for (const Note& note : index.notes()) notes += note.Where() + " " + note.text + "\n";
  return {index.jobs().size(), index.damaged(), notes};
}

Read ReadFile(const std::string& bytes) { return ReadFiles({{1, bytes}}); }

const std::string kPut = Record7(1, State::kReady, "mail", "hello");

TEST(BinlogReader, ReadsRecordsUpToTheZeros) {
  const Read read = ReadFile(File7(kPut + std::string(500, '\0')));
  EXPECT_EQ(read.jobs, 1U);
  EXPECT_EQ(read.notes, "");
}

TEST(BinlogReader, ADeleteAtTheEndIsADeleteAndNotACrash) {
  const Read read = ReadFile(File7(kPut + Record7(1, State::kGone) + std::string(500, '\0')));
  EXPECT_EQ(read.jobs, 0U);
  EXPECT_EQ(read.notes, "");
}

TEST(BinlogReader, ARecordTornAtAnyByteIsACrash) {
  const std::string second = Record7(2, State::kReady, "mail", "world");
  for (std::size_t kept = 1; kept < second.size(); ++kept) {
    const std::string torn = second.substr(0, kept) + std::string(600, '\0');
    const Read read = ReadFile(File7(kPut + torn));
    EXPECT_EQ(read.jobs, 1U) << kept;
    EXPECT_FALSE(read.damaged) << kept << read.notes;
  }
}

TEST(BinlogReader, ARecordCutByTheEndOfTheFileIsDamage) {
  const std::string second = Record7(2, State::kReady, "mail", "world");
  for (std::size_t kept = 1; kept < second.size(); ++kept) {
    const Read read = ReadFile(File7(kPut + second.substr(0, kept)));
    EXPECT_EQ(read.jobs, 1U) << kept;
    EXPECT_TRUE(read.damaged || second[kept - 1] == '\0') << kept;
  }
}

TEST(BinlogReader, BytesBehindTheEndAreDamage) {
  EXPECT_TRUE(
      ReadFile(File7(kPut + std::string(200, '\0') + "x" + std::string(200, '\0'))).damaged);
}

TEST(BinlogReader, AGapIsDamageAndBothSidesCount) {
  const Read read =
      ReadFiles({{3, File7(kPut)}, {5, File7(Record7(2, State::kReady, "mail", "hello"))}});
  EXPECT_EQ(read.jobs, 2U);
  EXPECT_EQ(read.notes, "binlog.5:0 binlog.4 is missing\n");
  EXPECT_TRUE(read.damaged);
}

TEST(BinlogReader, FilesOfZerosAreNoDamage) {
  const Read read = ReadFiles({{1, std::string(100, '\0')}, {2, ""}, {3, File7(kPut)}});
  EXPECT_EQ(read.jobs, 1U);
  EXPECT_FALSE(read.damaged);
}

TEST(BinlogReader, NamesUnknownVersionsAndByteOrders) {
  EXPECT_EQ(ReadFile(std::string("\11\0\0\0", 4) + kPut).notes, "binlog.1:0 unknown version 9\n");
  EXPECT_EQ(ReadFile(std::string("\0\0\0\7", 4) + kPut).notes,
            "binlog.1:0 the log of a big-endian machine, version 7\n");
}

TEST(BinlogReader, AChangeOfAnUnknownJobIsSkipped) {
  EXPECT_EQ(ReadFile(File7(Record7(7, State::kBuried) + kPut)).jobs, 1U);
}

TEST(BinlogReader, ADelayedJobThatIsDueIsReady) {
  JobIndex index;
  index.AddFile("binlog.1", 1, File7(Record7(1, State::kDelayed, "mail", "hello")));
  index.Finish(kNow + 2 * kSecond);
  EXPECT_EQ(index.jobs().front().state, State::kReady);
}

TEST(BinlogReader, ABodyWithoutItsEndWasNeverAcknowledged) {
  std::string broken = kPut;
  broken[broken.size() - 1] = 'x';
  const Read read = ReadFile(File7(broken + Record7(2, State::kReady, "mail", "world")));
  EXPECT_EQ(read.jobs, 1U);
  EXPECT_EQ(read.notes, "binlog.1:4 unfinished put of job 1: it was never acknowledged\n");
  EXPECT_FALSE(read.damaged);
}

}  // namespace
}  // namespace gearstalk::binlog
