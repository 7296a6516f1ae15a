// The tests' own program is started again as a router, as the broker's is.

#include <gtest/gtest.h>

#include <string_view>

#include "broker/router/router.h"
#include "broker/server/router_process.h"

int main(int argc, char** argv) {
  if (argc > 1 && std::string_view(argv[1]) == gearstalk::kRouterArgument) {
    return gearstalk::RunAsRouter(argc, argv);
  }
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
