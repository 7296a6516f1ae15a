#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "admin/move/transfer_client.h"
#include "tests/simulation/broker.h"
#include "tests/simulation/ledger.h"

namespace gearstalk::simulation {

class World;
class Operator;

// A connection of gearstalkctl. Whoever reads from it waits, and the world goes on meanwhile.
class Line final : public ctl::Channel, public Ear {
 public:
  Line(World& world, Operator& owner);
  ~Line() override;

  Status Write(std::string_view bytes) override;
  Status Read(std::string& bytes, int timeout_ms) override;
  void Sleep(unsigned milliseconds) override;
  Status Close() override;
  void OnBytes(std::string_view bytes) override { in_ += bytes; }
  void OnClosed() override { connection_ = nullptr; }
  // What was written reaches the broker.
  void Arrive();

 private:
  void ArriveIn(Time delay);
  bool BreaksOff();

  World& world_;
  Operator& owner_;
  Connection* connection_;
  std::string in_, out_;
};

// Moves jobs in from a server that never fails, and back to it, as `import` and `hand-back` of
// gearstalkctl do: with its client of the transfer protocol, in its order of steps. One transfer at
// a time; one that was interrupted is settled first.
class Operator {
 public:
  explicit Operator(World& world) : world_(world) {}

  // Begins to act now and then.
  void Begin();
  // The transfers come to their end. Returns when they have.
  void Finish();
  // The process that it is connected to is gone.
  void OnCrash();

  // --- For its line
  void SetLine(Line* line);
  // nullptr: another one, or none.
  Line* LineOf(std::uint64_t number) { return number == number_ ? line_ : nullptr; }
  std::uint64_t number() const { return number_; }

 private:
  // A job that hand-back may hold.
  struct Lent {
    KnownJob* job;
    bool held = false;     // the broker said so
    bool dropped = false;  // that was asked for
  };

  void Act();
  std::unique_ptr<ctl::TransferClient> Connect();
  // They return whether they came to their end.
  bool Import(ctl::TransferClient& client);
  bool HandBack(ctl::TransferClient& client);
  bool Move(ctl::TransferClient& client);
  bool Commit(ctl::TransferClient& client);
  bool Settle(ctl::TransferClient& client);
  bool Forget(ctl::TransferClient& client);

  Result<ctl::OpenedTransfer> Open(ctl::TransferClient& client, const char* name);
  bool TakeMark(const transfer::Mark& mark);
  void AddToSource();
  std::string FrameOf(const KnownJob& job, std::uint64_t place);
  Result<transfer::End> Collect(ctl::TransferClient& client, transfer::Type type,
                                const transfer::Selection& selection,
                                const std::function<void(KnownJob&)>& visit);
  Lent& LentOf(KnownJob& job);
  std::vector<std::uint64_t> HeldIds() const;
  void EndLoans();

  World& world_;
  Line* line_ = nullptr;
  std::uint64_t number_ = 0;  // of its connections
  bool begun_ = false, acts_ = false, finishing_ = false;
  transfer::RecordFrames frames_;
  std::vector<KnownJob*> source_;
  std::uint64_t settled_ = 0;  // jobs of the source of which it knows what became
  std::vector<Lent> lent_;
  bool unsettled_ = false;
  int forgotten_ = 0;  // marks, at the end
};

}  // namespace gearstalk::simulation
