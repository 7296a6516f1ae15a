#pragma once

#include "proto_gearman/commands.h"

// Packets of workers: abilities, taking jobs, reports.
namespace gearstalk::gearman {

void CanDo(GearmanSession& session, Request& request);
void CanDoTimeout(GearmanSession& session, Request& request);
void CantDo(GearmanSession& session, Request& request);
void ResetAbilities(GearmanSession& session, Request& request);
void AllYours(GearmanSession& session, Request& request);
void SetClientId(GearmanSession& session, Request& request);

void PreSleep(GearmanSession& session, Request& request);
void GrabJob(GearmanSession& session, Request& request);
void GrabJobUniq(GearmanSession& session, Request& request);
void GrabJobAll(GearmanSession& session, Request& request);

void WorkStatus(GearmanSession& session, Request& request);
void WorkData(GearmanSession& session, Request& request);
void WorkWarning(GearmanSession& session, Request& request);
void WorkComplete(GearmanSession& session, Request& request);
void WorkFail(GearmanSession& session, Request& request);
void WorkException(GearmanSession& session, Request& request);

}  // namespace gearstalk::gearman
