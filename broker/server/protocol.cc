#include "broker/server/protocol.h"

namespace gearstalk {

std::string_view ResultOf(Code code) {
  for (const auto& [refusal, name] : kJobRefusals) {
    if (refusal == code) return name;
  }
  switch (code) {
    case Code::kOk:
      return "ok";
    case Code::kNotFound:
      return "not-found";
    case Code::kInvalid:
    case Code::kNotIgnored:
      return "bad-request";
    case Code::kInUse:
      return "in-use";
    default:
      return "journal";
  }
}

}  // namespace gearstalk
