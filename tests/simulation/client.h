#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tests/simulation/broker.h"
#include "tests/simulation/ledger.h"

namespace gearstalk::simulation {

class World;

// A client: connects, has intentions, and reads replies as they leave the broker. What it does next
// comes a little later.
class Client : public Ear {
 public:
  Client(World& world, int number) : world_(world), number_(number) {}
  virtual ~Client() = default;
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  void Connect();
  // The connection breaks. The broker notices at once, or `later`.
  void Reset(Time later);
  // It sends no more, and reads what still comes.
  void HalfClose();
  void Stall(bool stalled);
  bool connected() const { return connection_ != nullptr; }
  // Ends what it has begun, and begins nothing.
  void Finish() { finishing_ = true; }
  // Whether nothing that it asked for is without an answer; otherwise what it waits for.
  virtual std::string Waits() const = 0;
  // Whether it has deleted a job that it surely held, and waits for the answer, which nothing but
  // the journal holds up.
  virtual bool AwaitsDeletion(const KnownJob&) const { return false; }
  int number() const { return number_; }

  void OnBytes(std::string_view bytes) final;
  void OnClosed() final;

 protected:
  virtual void OnConnected() = 0;
  // What it asked for and did not hear of will not be answered.
  virtual void OnGone() = 0;
  // Takes whole replies off the front.
  virtual void OnInput(std::string& input) = 0;
  virtual void Act() = 0;

  void Send(std::string_view bytes);
  // Calls Act after a while, unless the connection ends.
  void ActIn(Time delay);
  void ResetIn(Time delay);
  // What it knows of a job that it got.
  KnownJob* Take(JobId id, std::string_view body, const Ledger::HandOut& out);
  void Say(const std::string& what) const;
  // Whether replies may have been made long before they leave.
  bool stale() const { return stale_; }

  World& world_;
  std::vector<KnownJob*> held_;
  bool finishing_ = false;

 private:
  void SendPiece(std::string_view bytes);
  void Arrive(std::uint64_t session);

  const int number_;
  Connection* connection_ = nullptr;
  std::uint64_t session_ = 0;  // rises with every connection
  Time last_arrival_ = 0;
  bool stale_ = false, half_closed_ = false;
  std::deque<std::string> on_way_;  // pieces to the broker; the end is an empty one
  std::string input_;
};

// Speaks beanstalk.
class BeanstalkClient final : public Client {
 public:
  BeanstalkClient(World& world, int number) : Client(world, number) {}
  // From now on it takes from all tubes.
  void TakeAll();
  std::string Waits() const override;
  bool AwaitsDeletion(const KnownJob& job) const override;

 private:
  enum class Verb : std::uint8_t {
    kPut,
    kPutAgain,
    kUse,
    kWatch,
    kIgnore,
    kReserve,
    kReserveJob,
    kDelete,
    kRelease,
    kBury,
    kTouch,
    kKick,
    kKickJob,
    kPeek,
    kPause,
    kAsk,
  };
  struct Asked {
    Verb verb = Verb::kAsk;
    Time at = 0;
    KnownJob* job = nullptr;
    JobId id = 0;  // of the job; of a put: the highest id known before
    std::string tube{};
    std::uint32_t seconds = 0;  // timeout, delay, pause
    std::uint32_t priority = 0;
  };

  void OnConnected() override;
  void OnGone() override;
  void OnInput(std::string& input) override;
  void Act() override;

  void Ask(Asked asked, const std::string& line);
  void ActOnHeld(KnownJob& job);
  void ActFreely();
  void Put();
  bool PutAgain();
  void Reserve();
  void Watch();
  void Operate();
  void AskForJob();
  // Returns whether `reply`, with the body that came with it, answers it.
  bool Answered(const Asked& asked, std::string_view reply, std::string_view body);
  bool OnPutReply(const Asked& asked, std::string_view reply);
  bool OnJobReply(const Asked& asked, std::string_view reply, std::string_view body);
  bool OnHolderReply(const Asked& asked, std::string_view reply);
  bool OnTubeReply(const Asked& asked, std::string_view reply);
  void Drop(KnownJob* job);

  std::deque<Asked> asked_;
  bool takes_all_ = false;
  std::string used_ = "default";
  std::set<std::string> watched_;
};

// Speaks Gearman: submits jobs and waits for some, or works.
class GearmanClient final : public Client {
 public:
  GearmanClient(World& world, int number, bool works);
  std::string Waits() const override;

 private:
  void OnConnected() override;
  void OnGone() override;
  void OnInput(std::string& input) override;
  void Act() override;

  void SendPacket(std::uint32_t type, std::string_view payload);
  void OnPacket(std::uint32_t type, std::string_view payload);
  void Submit();
  void OnCreated(std::string_view handle);
  void OnFinished(std::uint32_t type, std::string_view handle, std::string_view data);
  void OnAssigned(std::string_view payload);
  void Work();
  void NoteCompleted();

  const bool works_;
  bool sleeps_ = false, grabs_ = false;
  Time asked_at_ = 0;
  std::set<std::string> functions_;
  std::deque<KnownJob*> submitted_;                 // without JOB_CREATED yet
  std::deque<JobId> floors_;                        // of each
  std::map<std::string, KnownJob*> waits_for_;      // foreground ones, by handle
  std::map<const KnownJob*, std::string> handles_;  // of those it works on
  std::deque<std::string> echoes_;
  std::vector<std::pair<KnownJob*, Time>> completed_;  // and until when it surely holds each
};

}  // namespace gearstalk::simulation
