#include "proto_gearman/job_handle.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

namespace gearstalk::gearman {
namespace {

TEST(JobHandle, ReadsWhatItWrites) {
  const HandleFormat format("host-1.example");
  for (JobId id : {JobId{1}, JobId{9}, JobId{10}, JobId{4294967296}, JobId{UINT64_MAX}}) {
    const HandleText text = format.Write(id);
    EXPECT_EQ(text.view(), std::string("H:host-1.example:").append(std::to_string(id)));
    EXPECT_EQ(format.Read(text), id);
  }
}

TEST(JobHandle, ReadsNothingElse) {
  const HandleFormat format("host");
  for (std::string_view text :
       {"", "H", "H:host", "H:host:", "H:host:0", "H:host:01", "H:host:+1", "H:host:-1",
        "H:host: 1", "H:host:1 ", "H:host:1x", "H:host:1\n", "h:host:1", "H:HOST:1", "H:other:1",
        "H:host:host:1", "H:host:18446744073709551616", "H:host:99999999999999999999999"}) {
    EXPECT_EQ(format.Read(text), std::nullopt) << text;
  }
  EXPECT_EQ(format.Read(std::string_view("H:host:1\0", 9)), std::nullopt);
}

TEST(JobHandle, StaysWithinItsSize) {
  const HandleFormat format(std::string(200, 'n'));
  const HandleText text = format.Write(UINT64_MAX);
  EXPECT_EQ(text.view().size(), HandleText::kMaxSize);
  EXPECT_EQ(format.Read(text), UINT64_MAX);
}

TEST(JobHandle, HoldsNothingThatBreaksClients) {
  const HandleFormat format("a b//c\td");
  EXPECT_EQ(format.Write(1).view(), "H:a-b--c-d:1");
}

}  // namespace
}  // namespace gearstalk::gearman
