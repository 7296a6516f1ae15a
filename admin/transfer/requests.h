#pragma once

#include "admin/transfer/session.h"
#include "broker/transfer/frame.h"

namespace gearstalk::transfer {

// Runs one request of the table in requests.cc.
void RunRequest(TransferSession& session, const Frame& frame);

}  // namespace gearstalk::transfer
