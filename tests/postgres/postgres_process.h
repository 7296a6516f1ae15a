#pragma once

#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

namespace gearstalk {

// A PostgreSQL server of its own in a directory that goes away with it, reached over a socket
// there.
class PostgresProcess {
 public:
  // nullptr: there is none on this machine.
  static std::unique_ptr<PostgresProcess> Start();
  ~PostgresProcess();

  std::string conninfo() const { return "host=" + directory_ + " dbname=postgres user=test"; }
  // Ends the server with all its sessions at once, and starts it again.
  void Crash();
  // Runs the commands as a superuser; the first field of the last answer.
  std::string Run(const std::string& sql) const;

 private:
  PostgresProcess() = default;
  void Launch();

  pid_t pid_ = -1;
  std::string directory_;
};

}  // namespace gearstalk
