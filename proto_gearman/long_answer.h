#pragma once

#include "broker/session/long_answer.h"

namespace gearstalk::gearman {

class GearmanSession;

using LongAnswer = gearstalk::LongAnswer<GearmanSession>;

}  // namespace gearstalk::gearman
