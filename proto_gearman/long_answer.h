#pragma once

#include "broker/session/long_answer.h"

namespace gearstalk::gearman {

class Session;

using LongAnswer = gearstalk::LongAnswer<Session>;

}  // namespace gearstalk::gearman
