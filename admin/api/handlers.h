#pragma once

#include "admin/api/call.h"

// The handlers of the route table, one a row: each decodes, calls the engine once, and encodes.
namespace gearstalk::api {

// about_routes.cc
Reply GetIndex(Call& call);
Reply GetOpenApi(Call& call);
Reply GetSession(Call& call);
Reply OpenSession(Call& call);
Reply CloseSession(Call& call);

// server_routes.cc
Reply GetServer(Call& call);
Reply SetDraining(Call& call);
Reply SetLogLevel(Call& call);
Reply StepDown(Call& call);
Reply GetAudit(Call& call);

// tube_list.cc, tube_routes.cc
Reply ListTubes(Call& call);
Reply CreateTube(Call& call);
Reply GetTube(Call& call);
Reply DropTube(Call& call);
Reply PauseTube(Call& call);
Reply ResumeTube(Call& call);
Reply SetMaxQueue(Call& call);
Reply ResetMaxQueue(Call& call);
Reply KickTube(Call& call);
Reply PutJob(Call& call);

// job_list.cc, job_routes.cc, body_routes.cc
Reply ListJobs(Call& call);
Reply ListJobsOfTube(Call& call);
Reply GetJob(Call& call);
Reply DeleteJob(Call& call);
Reply KickJob(Call& call);
Reply BuryJob(Call& call);
Reply ReleaseJob(Call& call);
Reply MoveJob(Call& call);
Reply CopyJob(Call& call);
Reply GetBody(Call& call);
Reply ViewBody(Call& call);

// failure_list.cc, attention_routes.cc
Reply ListFailures(Call& call);
Reply GetAttention(Call& call);

// operation_routes.cc
Reply ListOperations(Call& call);
Reply BeginOperation(Call& call);
Reply GetOperation(Call& call);
Reply StopOperation(Call& call);
Reply ConfirmOperation(Call& call);

// connection_routes.cc
Reply ListConnections(Call& call);
Reply GetConnection(Call& call);
Reply CloseConnection(Call& call);

// policy_routes.cc, schedule_routes.cc
Reply ListGroups(Call& call);
Reply GetPolicy(Call& call);
Reply SetPolicy(Call& call);
Reply ResetPolicy(Call& call);
Reply ListSchedules(Call& call);
Reply RunSchedule(Call& call);
Reply EnableSchedule(Call& call);

// transfer_routes.cc
Reply ListTransfers(Call& call);
Reply ForgetTransfer(Call& call);

// history.cc, events.cc
Reply GetHistory(Call& call);
Reply GetEvents(Call& call);

}  // namespace gearstalk::api
