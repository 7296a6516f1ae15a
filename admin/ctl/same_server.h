#pragma once

#include "admin/ctl/address.h"
#include "admin/ctl/beanstalk_client.h"
#include "admin/ctl/gearman_client.h"

namespace gearstalk::ctl {

// kInvalid: the server `there` is the one at `here`, whatever its addresses are, so jobs would be
// moved from it to itself without end. The servers say so themselves: a beanstalkd by its id, a
// Gearman server by the connections that it lists.
Status RefuseSame(BeanstalkClient& there, const Target& here);
Status RefuseSame(GearmanClient& there, const Target& here);

}  // namespace gearstalk::ctl
