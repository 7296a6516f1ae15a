// What a server does when it has no descriptors left. Not built with the sanitizer of undefined
// behaviour, which needs descriptors itself.

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <vector>

#include "tests/server/server_fixture.h"

namespace gearstalk {
namespace {

using Descriptors = ServerTest;

// Leaves the process `free` descriptors for the time being.
class FewDescriptors {
 public:
  explicit FewDescriptors(unsigned free) {
    getrlimit(RLIMIT_NOFILE, &before_);
    const int lowest = dup(STDERR_FILENO);
    close(lowest);
    rlimit now = before_;
    now.rlim_cur = static_cast<rlim_t>(lowest) + free;
    setrlimit(RLIMIT_NOFILE, &now);
  }
  ~FewDescriptors() { setrlimit(RLIMIT_NOFILE, &before_); }
  FewDescriptors(const FewDescriptors&) = delete;
  FewDescriptors& operator=(const FewDescriptors&) = delete;

 private:
  rlimit before_{};
};

TEST_F(Descriptors, AcceptingPausesWhenTheyRunOut) {
  std::vector<std::unique_ptr<Client>> clients;
  for (int i = 0; i < 4; ++i) {
    clients.push_back(std::make_unique<Client>(path_));
    clients.back()->Send("a echo " + std::to_string(i) + "\n");
  }
  const FewDescriptors few(2);
  ExpectHears(*clients[0], "0\n");
  ExpectHears(*clients[1], "1\n");
  TurnAll();
  EXPECT_EQ(server_.Count(), 2U);
  EXPECT_EQ(clients[2]->Read(), "");
  // Without its own end and the server's, there is room for those that wait.
  clients[0]->Close();
  clients[1]->Close();
  Pass(kSecond);
  ExpectHears(*clients[2], "2\n");
  ExpectHears(*clients[3], "3\n");
  EXPECT_EQ(server_.Count(), 2U);
}

}  // namespace
}  // namespace gearstalk
