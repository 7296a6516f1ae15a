#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace gearstalk {

// A node or a server of a store.
struct EndpointStats {
  std::string name;
  bool in_use = false;         // the next call goes there first
  std::uint64_t db_bytes = 0;  // size of the file of that node; 0: not known
};

// What the server that keeps a shared journal says of itself.
struct StoreServer {
  std::string kind;     // "postgresql"
  std::string version;  // of the server
  std::string primary;  // HOST:PORT
  std::string synchronous_commit, fsync, full_page_writes;
  std::string synchronous_standby_names;
  std::vector<std::string> standbys;  // that confirm commits
  bool standbys_known = false;        // false: this role may not see them
  std::uint64_t primaries = 0;        // servers that say they are primary: more than 1 is a fault
};

}  // namespace gearstalk
