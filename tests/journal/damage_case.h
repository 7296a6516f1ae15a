#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "broker/journal/wal/wal_check.h"
#include "broker/journal/wal/wal_format.h"
#include "broker/journal/wal/wal_salvage.h"
#include "tests/journal/rig.h"

namespace gearstalk {

// A journal that tests damage, and what the tools say of it.
class DamageCase : public testing::Test {
 protected:
  static std::string PathOf(std::uint64_t number) { return "/data/" + SegmentName(number); }
  Status Check() {
    report_.clear();
    return CheckJournal(rig_.disk, "/data", report_);
  }
  Status Salvage() {
    report_.clear();
    return SalvageJournal(rig_.disk, "/data", report_, rig_.options.segment_size);
  }
  bool Reports(const std::string& what) const { return report_.find(what) != std::string::npos; }

  Rig rig_;
  std::string report_;
};

}  // namespace gearstalk
