#pragma once

#include "proto_gearman/commands.h"

// Packets of clients: submissions, questions, options.
namespace gearstalk::gearman {

// The three kinds of priority are told apart by the packet's type.
void SubmitJob(GearmanSession& session, Request& request);
void SubmitJobBg(GearmanSession& session, Request& request);
void SubmitJobEpoch(GearmanSession& session, Request& request);
void SubmitJobSched(GearmanSession& session, Request& request);
void SubmitReduceJob(GearmanSession& session, Request& request);
void SubmitReduceJobBackground(GearmanSession& session, Request& request);

void GetStatus(GearmanSession& session, Request& request);
void GetStatusUnique(GearmanSession& session, Request& request);

void EchoReq(GearmanSession& session, Request& request);
void OptionReq(GearmanSession& session, Request& request);

}  // namespace gearstalk::gearman
