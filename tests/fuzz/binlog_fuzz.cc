// beanstalkd's log. An input is read as one file, and once more as two: whatever it holds, the
// reader stays inside it and ends.

#include "broker/base/check.h"
#include "broker/binlog/job_index.h"
#include "tests/fuzz/fuzz.h"

namespace gearstalk {
namespace {

void ReadAll(std::string_view first, std::string_view second) {
  binlog::JobIndex index;
  index.AddFile("binlog.1", 1, first);
  index.AddFile("binlog.2", 2, second);
  index.Finish(1'800'000'000 * kSecond);
  std::uint64_t last = 0;
  for (const binlog::Job& job : index.jobs()) {
    const std::string_view file = job.file == 0 ? first : second;
    GS_CHECK(job.id > last && job.body_offset + job.body_size + 2 <= file.size());
    GS_CHECK(job.state != binlog::State::kGone && job.state != binlog::State::kReserved);
    GS_CHECK(index.tube(job).size() <= 200);
    last = job.id;
  }
}

}  // namespace
}  // namespace gearstalk

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace gearstalk;
  const std::string_view bytes = AsBytes(data, size);
  ReadAll(bytes, {});
  ReadAll(bytes.substr(0, size / 2), bytes.substr(size / 2));
  return 0;
}
