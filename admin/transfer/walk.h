#pragma once

#include <cstdint>

#include "admin/transfer/session.h"
#include "broker/base/slices.h"

// Requests that take long. The session outlives the work.
namespace gearstalk::transfer {

// Confirms, commits or drops held jobs, up to one that fails.
using IdAct = Transfers::Change (*)(TransferSession&, std::uint64_t id);
Slices ActOnIds(TransferSession& session, IdList list, IdAct act);
// Forgets a transfer: its held jobs first, then the mark, so that after a crash in between it can
// be repeated.
Slices ForgetTransfer(TransferSession& session, Forgetting forgetting);
// The marks of all transfers.
Slices SendMarks(TransferSession& session);
// All held jobs of the session's transfer.
Slices SendHeld(TransferSession& session);
// Settings of tubes, then durable jobs by id. Jobs made after it began are not in it: it ends.
Slices SendAll(TransferSession& session, Selection selection);
// Takes jobs that nobody has reserved out of their queues: by id, or those that the selection
// names in its order.
Slices HoldBackJobs(TransferSession& session, Selection selection);

}  // namespace gearstalk::transfer
