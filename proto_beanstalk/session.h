#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "broker/base/log.h"
#include "broker/base/slices.h"
#include "broker/engine/consumer.h"
#include "broker/engine/incoming_job.h"
#include "broker/server/protocol.h"
#include "broker/session/watch_rights.h"
#include "proto_beanstalk/commands.h"
#include "proto_beanstalk/protocol.h"

namespace gearstalk::beanstalk {

// A connection that speaks beanstalk: runs its stream of commands.
class Session final : public gearstalk::Session, public Consumer {
 public:
  Session(Protocol& protocol, Wire& wire);
  ~Session() override;

  // --- For the connection ------------------------------------------------------------------------
  InputResult OnInput(std::string_view bytes, Scope scope) override;
  std::span<char> BodySpace() override;
  void OnBody(std::size_t size) override { draft_->job.Filled(size); }
  void OnEof() override;
  bool Leave() override;
  bool Idle() const override {
    return !waiting() && held() == 0 && state_ != State::kAnswering && pending_ == nullptr &&
           put_ == nullptr;
  }
  const Peer* Client() const override { return &peer_; }
  std::size_t AppendQueues(std::string& out, std::size_t from, std::size_t most) const override;

  // --- For the engine ----------------------------------------------------------------------------
  void OnReserved(Job& job, Lsn lsn) override;
  void OnDeadlineSoon() override;
  void OnTimedOut() override;
  void OnCompared() override { wire_.RunSoon(); }

  // --- For the handlers --------------------------------------------------------------------------
  Protocol& protocol() { return protocol_; }
  Engine& engine() { return protocol_.engine(); }
  Output& out() { return wire_.out(); }
  Time now() const { return wire_.Now(); }
  // The peer sends no more: it does not wait for jobs.
  bool at_eof() const { return at_eof_; }
  // Whether the connection has one of `rights` on the tube.
  bool May(std::uint8_t rights, std::string_view tube) const {
    return peer_.access == nullptr || peer_.access->Allows(rights, tube);
  }

  // The body of a put is larger than allowed.
  void NoteTooBig();
  void NoteRefused(Code code) { wire_.OnJobRefused(code, used()->name()); }
  void NoteAct(const OperatorAct& act) { wire_.OnOperatorAct(act); }
  // Whether rules restrict the connection.
  bool HasRules() const { return peer_.access != nullptr; }
  // Whether the connection is one of operators: rules give it the right `admin` on the tube.
  bool OfOperators(std::string_view tube) const {
    return HasRules() && peer_.access->Allows(right::kAdmin, tube);
  }

  // Writes a whole reply of one line, CRLF included.
  Next Reply(std::string_view line);
  // The body of a put comes next, and its job is put when it is there.
  Next AwaitBody(const Arguments& put);
  // Discards the next `size` bytes, then replies with `reply`, a static text.
  Next SkipBody(std::uint64_t size, std::string_view reply);
  // A reply with a job.
  struct JobReply {
    std::string_view word;
    Lsn lsn = 0;
    bool taken = false;              // the session takes the job
    std::optional<Time> until = {};  // of a reserve: goes on if the body is damaged
  };
  // Replies when the body is in memory.
  Next Reply(Job& job, const JobReply& reply);
  // Waits for the engine, which answers later; of a reserve, until then.
  Next AwaitJob(Time until);
  // Leaves the engine and does nothing any more.
  Next Close();

  // Answers in slices; the next command waits until that is complete.
  Next Answer(Slices answer);

 private:
  enum class State : std::uint8_t {
    kCommand,
    kAfterCr,  // of a body that was a byte too long: its LF is part of the next line
    kBody,
    kSkippingBody,
    kSkippingLine,
    kAwaitingJob,
    kAwaitingBody,
    kComparing,
    kAnswering,
    kClosed,
  };
  // A put whose body is arriving.
  struct Draft {
    explicit Draft(const Arguments& put)
        : job(put.body_size, {}, 2),
          priority(put.priority),
          delay_s(put.delay_s),
          ttr_s(std::max(put.ttr_s, 1U)) {}
    IncomingJob job;
    std::uint32_t priority;
    std::uint32_t delay_s;
    std::uint32_t ttr_s;
  };

  // A reply that waits for its body.
  class Pending final : public BodyWait {
   public:
    Pending(Session& session, const JobReply& to_send) : reply(to_send), session_(session) {}
    const JobReply reply;

   private:
    void OnBody() override { session_.wire_.RunSoon(); }
    Session& session_;
  };

  Next AwaitBodyOf(Job& job, const JobReply& reply);
  Next Step(std::string_view& rest, Scope scope);
  Next RunCommand(std::string_view& rest, Scope scope);
  bool Permitted(const Command& command, const Arguments& arguments);
  Next Refuse(const Command& command, const Arguments& arguments);
  // The tube that a refused command is about; empty if it is about none.
  std::string_view TubeConcerned(const Command& command, const Arguments& arguments);
  void LeaveForbidden() { watch_rights_.Apply(peer_.access, engine(), now(), *this); }

  Next ReadBody(std::string_view& rest);
  Next RefuseBody();
  Next StoreBody();
  Next PutJob();
  bool MayNotGrow() { return engine().MemoryFull() && !PutsAnswers(*this); }
  Next DropBody(std::string_view& rest);
  Next DropLine(std::string_view& rest);
  Next GoOnAnswering();
  Next GoOnWithBody();
  void EndWait();

  Protocol& protocol_;
  Wire& wire_;
  const Peer& peer_;
  State state_ = State::kCommand;
  bool at_eof_ = false;
  std::optional<Draft> draft_;
  std::uint64_t to_skip_ = 0;  // bytes of a body
  std::string_view skip_reply_;
  Slices answer_;
  std::unique_ptr<Pending> pending_;
  JobPtr put_;  // waits to be compared
  ComparisonPtr compared_;
  Time reserve_until_ = 0;
  WatchRights watch_rights_;
};

}  // namespace gearstalk::beanstalk
