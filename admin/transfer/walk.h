#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "admin/transfer/session.h"

namespace gearstalk::transfer {

// Confirms, commits or drops held jobs, up to one that fails.
class IdWalk final : public Walk {
 public:
  using Act = Transfers::Change (*)(TransferSession&, std::uint64_t id);

  IdWalk(std::vector<std::uint64_t> ids, Act act) : ids_(std::move(ids)), act_(act) {}
  // So few that the next request need not wait for the next turn.
  bool Few() const { return ids_.size() <= 16; }
  bool Advance(TransferSession& session) override;

 private:
  std::vector<std::uint64_t> ids_;
  Act act_;
  std::size_t done_ = 0;
};

// Forgets a transfer: its held jobs first, then the mark, so that after a crash in between it can
// be repeated.
class ForgetWalk final : public Walk {
 public:
  explicit ForgetWalk(Forgetting forgetting) : forgetting_(std::move(forgetting)) {}
  bool Advance(TransferSession& session) override;

 private:
  const Forgetting forgetting_;
  std::uint64_t last_ = 0;
};

// The marks of all transfers.
class TransferWalk final : public Walk {
 public:
  bool Advance(TransferSession& session) override;

 private:
  std::string name_;
};

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

// Takes jobs that nobody has reserved out of their queues: by id, or those that the selection
// names in its order.
class HoldBackWalk final : public Walk {
 public:
  explicit HoldBackWalk(Selection selection)
      : selection_(std::move(selection)), last_(selection_.after) {}
  bool Advance(TransferSession& session) override;

 private:
  // False: there are no more. `job` is nullptr if the selection names one that is gone.
  bool Next(const Engine& engine, const gearstalk::Job*& job);
  // False: it was refused.
  bool Take(TransferSession& session, const gearstalk::Job& job);

  const Selection selection_;
  std::size_t place_ = 0;  // in the selection's ids
  std::uint64_t last_, jobs_ = 0, busy_ = 0;
};

}  // namespace gearstalk::transfer
