#include "admin/move/channel.h"

namespace gearstalk::ctl {

Status Client::Flush() {
  if (out_.empty()) return {};
  Status status = channel_->Write(out_);
  out_.clear();
  return status;
}

Status Client::More(int timeout_ms) {
  GS_TRY(Flush());
  in_.erase(0, std::exchange(used_, 0));
  return channel_->Read(in_, timeout_ms);
}

Status Client::Await(int silence_ms) {
  Status status = More(silence_ms);
  return status.code() == Code::kNotFound ? Status(Code::kIo, Name() + " is silent") : status;
}

}  // namespace gearstalk::ctl
