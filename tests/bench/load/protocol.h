#pragma once

namespace gearstalk::bench {

enum class Protocol { kBeanstalk, kGearman };

}  // namespace gearstalk::bench
