#pragma once

#include <cstdint>

#include "broker/journal/record.h"

namespace gearstalk {

inline Record RecordOf(Record::Kind kind, std::uint64_t id) {
  Record record;
  record.kind = kind;
  record.id = id;
  return record;
}

}  // namespace gearstalk
