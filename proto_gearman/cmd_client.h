#pragma once

#include "proto_gearman/commands.h"

// Packets of clients: submitting jobs, asking for their status, options.
namespace gearstalk::gearman {

// The packet's type gives the priority.
void SubmitJob(Session& session, Request& request);
void SubmitJobBg(Session& session, Request& request);
void SubmitJobEpoch(Session& session, Request& request);
void SubmitJobSched(Session& session, Request& request);
void SubmitReduceJob(Session& session, Request& request);
void SubmitReduceJobBackground(Session& session, Request& request);

void GetStatus(Session& session, Request& request);
void GetStatusUnique(Session& session, Request& request);

void EchoReq(Session& session, Request& request);
void OptionReq(Session& session, Request& request);

}  // namespace gearstalk::gearman
