#pragma once

#include "proto_gearman/commands.h"

// Packets of workers: functions, grabbing jobs, reports on jobs.
namespace gearstalk::gearman {

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

void WorkStatus(Session& session, Request& request);
void WorkData(Session& session, Request& request);
void WorkWarning(Session& session, Request& request);
void WorkComplete(Session& session, Request& request);
void WorkFail(Session& session, Request& request);
void WorkException(Session& session, Request& request);

}  // namespace gearstalk::gearman
