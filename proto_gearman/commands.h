#pragma once

#include <cstdint>
#include <string_view>

#include "broker/engine/job.h"
#include "broker/server/access.h"
#include "proto_gearman/context.h"
#include "proto_gearman/error.h"
#include "proto_gearman/packet.h"

namespace gearstalk::gearman {

class Payload;
class Session;

// Bounds what is not a workload but may be long: results, progress, echoes.
inline constexpr std::uint32_t kMaxData = 64 * 1024 * 1024;

// A whole packet. Views are valid during the call.
struct Request {
  PacketType type;
  Arguments arguments;
  std::string_view data;        // the bytes behind the arguments
  JobPtr job;                   // holds the data instead, if a submitted job arrived in pieces
  Payload* gathered = nullptr;  // owns `data`, if it arrived in pieces; may be moved from
};

// One row for each packet type.
struct Command {
  std::string_view name;  // as in the protocol's document
  Shape shape;
  bool workload = false;                                          // the data is the body of a job
  void (*handler)(Session& session, Request& request) = nullptr;  // none: refused
  std::uint8_t right = right::kNone;  // needed for the function it names, or those it can do
};

const Command& CommandOf(PacketType type);

// Why a packet is refused before its data arrives; nullptr: it is not. `data` in bytes.
const Error* Refusal(PacketType type, const Arguments& arguments, std::uint32_t data,
                     const Options& options);

}  // namespace gearstalk::gearman
