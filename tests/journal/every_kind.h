#pragma once

#include <vector>

#include "broker/journal/record.h"

namespace gearstalk {

// A delayed job.
Record SomePut();

// A record of each kind; every field is in one of them. Their views stay valid.
std::vector<Record> EveryKind();

void ExpectSame(const Record& is, const Record& wanted);

}  // namespace gearstalk
