#pragma once

#include <cstdint>

namespace gearstalk {

// A position in the journal: how many records were appended up to and including one. 0 is "before
// everything" and therefore always durable; replies that wait for nothing carry it.
using Lsn = std::uint64_t;

}  // namespace gearstalk
