#include "broker/process/standard_streams.h"

#include <fcntl.h>
#include <unistd.h>

namespace gearstalk {

void OpenStandardStreams() {
  // open() takes the lowest free descriptor: once it is above 2, all three are open.
  int fd = 0;
  while (fd >= 0 && fd <= STDERR_FILENO) fd = open("/dev/null", O_RDWR);
  if (fd > STDERR_FILENO) close(fd);
}

}  // namespace gearstalk
