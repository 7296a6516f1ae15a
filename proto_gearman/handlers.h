#pragma once

#include "proto_gearman/commands.h"

// The handlers of the table of packets, one a row.
namespace gearstalk::gearman {

// cmd_client.cc: submitting jobs, asking for their status, options. The packet's type gives the
// priority.
void SubmitJob(Session& session, Request& request);
void SubmitJobBg(Session& session, Request& request);
void SubmitJobEpoch(Session& session, Request& request);
void SubmitJobSched(Session& session, Request& request);
void SubmitReduceJob(Session& session, Request& request);
void SubmitReduceJobBackground(Session& session, Request& request);
// The answer to a submit.
void ReplySubmitted(Session& session, const Added& added, std::string_view tube);

void GetStatus(Session& session, Request& request);
void GetStatusUnique(Session& session, Request& request);

void EchoReq(Session& session, Request& request);
void OptionReq(Session& session, Request& request);

// cmd_worker.cc: functions, grabbing jobs, reports on jobs.
void CanDo(Session& session, Request& request);
void CanDoTimeout(Session& session, Request& request);
void CantDo(Session& session, Request& request);
void ResetAbilities(Session& session, Request& request);
void AllYours(Session& session, Request& request);
void SetClientId(Session& session, Request& request);

void PreSleep(Session& session, Request& request);
void GrabJob(Session& session, Request& request);
void GrabJobUniq(Session& session, Request& request);
void GrabJobAll(Session& session, Request& request);
// JOB_ASSIGN, _UNIQ or _ALL with a body that is in memory. The job may be gone meanwhile.
void AppendAssign(Session& session, PacketType type, std::string_view function, Job& job);

void WorkStatus(Session& session, Request& request);
void WorkData(Session& session, Request& request);
void WorkWarning(Session& session, Request& request);
void WorkComplete(Session& session, Request& request);
void WorkFail(Session& session, Request& request);
void WorkException(Session& session, Request& request);

}  // namespace gearstalk::gearman
