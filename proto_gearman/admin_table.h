#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "proto_gearman/context.h"
#include "proto_gearman/long_answer.h"

namespace gearstalk::gearman {

// An answer of many lines, made in slices so that other connections are served in between, and sent
// when it is complete. It may or may not show what changes meanwhile.
class AdminTable final : public LongAnswer {
 public:
  enum class Kind : std::uint8_t { kStatus, kPriorityStatus, kJobs, kUniqueJobs, kWorkers };
  static constexpr int kSlice = 512;                      // rows
  static constexpr std::size_t kSliceBytes = 128 * 1024;  // of them, about

  // Shows only what `peer` has the rights to see.
  AdminTable(Kind kind, const Context& context, const Peer& peer)
      : kind_(kind), context_(context), peer_(peer) {}

  bool Advance(Session& session) override;

 private:
  bool AddRow();
  bool AddNextTube();
  bool AddNextIdleFunction();
  bool AddNextJob();
  bool AddNextConnection();
  bool Shows(std::string_view tube) const;
  void AddTube(const Tube& tube);
  void AddJob(const Job& job);
  void BeginConnection(const Peer& peer, const gearstalk::Session* session);
  void EndConnection();
  void AddNumber(std::uint64_t number);

  const Kind kind_;
  const Context& context_;
  const Peer& peer_;
  std::uint64_t cursor_ = 0;             // the last tube or job, by id, or the next descriptor
  std::uint64_t idle_cursor_ = 0;        // the last idle function
  std::optional<std::uint64_t> listed_;  // id of the connection whose line is not whole yet
  std::size_t queues_ = 0;               // in that line
  std::string text_;                     // of one slice
  Output rows_;
};

}  // namespace gearstalk::gearman
