#pragma once

#include "broker/journal/record.h"
#include "broker/transfer/messages.h"

// Between records and messages.
namespace gearstalk::transfer {

Record ToRecord(const Job& job);
// Without the state kReserved, which records do not have.
Job FromRecord(const Record& record);
Tube FromSettings(std::string_view tube, const TubeSettings& settings);
Record ToRecord(const Tube& tube);

}  // namespace gearstalk::transfer
