#pragma once

#include <cstdint>
#include <utility>

#include "admin/transfer/session.h"

namespace gearstalk::transfer {

// All held jobs of the session's transfer.
class HeldWalk final : public Walk {
 public:
  bool Advance(TransferSession& session) override;

 private:
  std::uint64_t last_ = 0, jobs_ = 0;
};

// Settings of tubes, then durable jobs by id. Jobs made after it began are not in it: it ends.
class ExportWalk final : public Walk {
 public:
  ExportWalk(Selection selection, std::uint64_t end)
      : selection_(std::move(selection)), end_(end) {}
  bool Advance(TransferSession& session) override;

 private:
  bool Selected(std::string_view tube) const;
  void Tubes(TransferSession& session);

  const Selection selection_;
  const std::uint64_t end_;
  std::uint64_t tube_ = 0, last_ = 0, jobs_ = 0;
  bool tubes_done_ = false;
};

// Takes jobs that nobody has reserved out of their queues, by id.
class HoldBackWalk final : public Walk {
 public:
  explicit HoldBackWalk(Selection selection)
      : selection_(std::move(selection)), last_(selection_.after) {}
  bool Advance(TransferSession& session) override;

 private:
  const Selection selection_;
  std::uint64_t last_, jobs_ = 0, busy_ = 0;
};

}  // namespace gearstalk::transfer
