#pragma once

#include "broker/engine/outcome.h"
#include "proto_beanstalk/commands.h"

namespace gearstalk::beanstalk {

// One function for each verb, named as on the wire: takes the decoded arguments, calls the engine
// once and writes the reply.

// cmd_produce.cc
Next Put(Session& session, const Arguments& arguments);
// The answer to a put.
Next ReplyPut(Session& session, const Added& added);
Next Use(Session& session, const Arguments& arguments);

// cmd_consume.cc
// Reserves, or waits until `deadline`.
Next ReserveUntil(Session& session, Time deadline);
Next Reserve(Session& session, const Arguments& arguments);
Next ReserveWithTimeout(Session& session, const Arguments& arguments);
Next ReserveJob(Session& session, const Arguments& arguments);
Next Delete(Session& session, const Arguments& arguments);
Next Release(Session& session, const Arguments& arguments);
Next Bury(Session& session, const Arguments& arguments);
Next Touch(Session& session, const Arguments& arguments);
Next Watch(Session& session, const Arguments& arguments);
Next Ignore(Session& session, const Arguments& arguments);
Next Quit(Session& session, const Arguments& arguments);

// cmd_peek.cc
Next Peek(Session& session, const Arguments& arguments);
Next PeekReady(Session& session, const Arguments& arguments);
Next PeekDelayed(Session& session, const Arguments& arguments);
Next PeekBuried(Session& session, const Arguments& arguments);

// cmd_tube.cc
Next Kick(Session& session, const Arguments& arguments);
Next KickJob(Session& session, const Arguments& arguments);
Next PauseTube(Session& session, const Arguments& arguments);
Next ListTubes(Session& session, const Arguments& arguments);
Next ListTubeUsed(Session& session, const Arguments& arguments);
Next ListTubesWatched(Session& session, const Arguments& arguments);

// cmd_stats.cc
Next Stats(Session& session, const Arguments& arguments);
Next StatsJob(Session& session, const Arguments& arguments);
Next StatsTube(Session& session, const Arguments& arguments);

}  // namespace gearstalk::beanstalk
