#pragma once

namespace gearstalk::bench {

// How one of several producers or consumers works.
struct Role {
  int index = 0;
  int count = 1;
  int depth = 1;               // jobs asked for or stored without an answer
  bool finishes_jobs = false;  // a stored job is a finished one: nobody takes it
};

}  // namespace gearstalk::bench
