#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "broker/base/log.h"
#include "broker/base/slices.h"
#include "broker/engine/consumer.h"
#include "broker/engine/job_observer.h"
#include "broker/server/protocol.h"
#include "broker/session/watch_rights.h"
#include "proto_gearman/commands.h"
#include "proto_gearman/protocol.h"

namespace gearstalk::gearman {

// A connection that speaks Gearman: client, worker and admin in one, message by message.
class Session final : public gearstalk::Session, public Consumer, public JobObserver {
 public:
  Session(const Context& context, Wire& wire);
  ~Session() override;

  // Session
  InputResult OnInput(std::string_view bytes, Scope scope) override;
  std::span<char> BodySpace() override;
  void OnBody(std::size_t size) override;
  void OnEof() override;
  bool Leave() override;
  bool Idle() const override {
    return !waiting() && held() == 0 && !awaits() && !yielded_ && body_ == nullptr &&
           submit_ == nullptr;
  }
  const Peer* Client() const override { return &peer_; }
  std::string_view ClientId() const override { return client_id_; }
  std::size_t AppendQueues(std::string& out, std::size_t from, std::size_t most) const override;

  // Consumer
  void OnJobsAvailable() override { Reply(PacketType::kNoop, {}); }
  void OnCompared() override { wire_.RunSoon(); }

  // JobObserver
  void OnProgress(const Job& job, const Progress& progress, std::uint64_t times) override;
  void OnFinished(const Job& job, const Finish& finish, std::uint64_t times) override;

  // For the handlers.
  const Context& context() const { return context_; }
  Engine& engine() { return context_.engine; }
  Output& out() { return wire_.out(); }
  const Peer& peer() const { return peer_; }
  // Refuses a text line: a right is missing.
  void NoteRefused(std::string_view command, std::string_view tube) {
    wire_.OnRefused(gearstalk::Refusal::kRights, {.command = command, .tube = tube});
  }
  void NoteJobRefused(Code code, std::string_view tube) { wire_.OnJobRefused(code, tube); }
  void NoteCommand(std::string_view command, std::string_view about) {
    if (Logs(LogLevel::kTrace)) wire_.OnCommand(command, about);
  }
  void NoteAct(const OperatorAct& act) { wire_.OnOperatorAct(act); }
  Time Now() const { return wire_.Now(); }
  HandleText HandleOf(JobId id) const { return context_.handles.Write(id); }
  // 0, which no job has: not a handle of this broker.
  JobId IdOf(std::string_view handle) const { return context_.handles.Read(handle).value_or(0); }
  void Reply(PacketType type, std::initializer_list<std::string_view> parts);
  void ReplyError(const Error& error);
  // The next message waits until `answer` is complete.
  void Begin(Slices answer) { answer_ = std::move(answer); }
  // Assigns the job when its body is in memory. `asked` is the request, which is run again if the
  // body is damaged.
  void AwaitBody(Job& job, PacketType asked, PacketType reply);
  // Adds the job, when it has been compared.
  void Submit(JobPtr job, const Submission& submission);
  void SetClientId(std::string_view id);
  void WantExceptions() { exceptions_ = true; }

  // Some workers send WORK_FAIL behind WORK_EXCEPTION, which has ended the job.
  void RememberException(JobId id) { excepted_ = id; }
  void ForgetException() { excepted_ = 0; }
  // Whether this is that WORK_FAIL; true once.
  bool FailFollowsException(JobId id);

 private:
  struct Arriving;
  struct Submitting;
  struct Head {
    Header header;
    Arguments arguments;
    const Error* error = nullptr;
  };

  // An assignment that waits for its body.
  class Pending final : public BodyWait {
   public:
    Pending(Session& session, PacketType request, PacketType answer, std::string name)
        : asked(request), reply(answer), function(std::move(name)), session_(session) {}
    const PacketType asked, reply;
    const std::string function;  // the tube may be gone before the body is there

   private:
    void OnBody() override { session_.wire_.RunSoon(); }
    Session& session_;
  };

  Next Advance(std::string_view& rest, Scope scope);
  Next TakeMessage(std::string_view& rest, Scope scope);
  Next TakeLine(std::string_view& rest, Scope scope);
  Next TakePacket(std::string_view& rest);
  Next TakeArriving(std::string_view& rest);
  Next GoOnAnswering() { return answer_.Advance() ? Next::kYield : Next::kGoOn; }
  Next GoOnWithBody();
  Next GoOnWithSubmit();
  Parsed ParseHead(std::string_view bytes, Head& head);
  const Error* TubeRefusal(const Arguments& arguments, std::uint32_t data) const;
  void BeginArriving(const Head& head, std::string_view& rest);
  // Memory is full. A worker that holds a job may go on: its reports are accepted.
  bool MayNotGrow() { return engine().MemoryFull() && held() == 0; }
  void DropArriving();
  const Error* Denial(const Command& command, const Arguments& arguments);
  void Run(Request& request, const Error* error);
  void Refuse(const Request& request, const Error& error);
  void Hand(PacketType type, const Job& job, const ReportData& data, std::uint64_t times);
  void HandLong(PacketType type, std::string_view handle, const ReportData& data);
  void HandOften(PacketType type, std::initializer_list<std::string_view> parts,
                 std::uint64_t times);
  void JoinEngine();

  const Context& context_;
  Wire& wire_;
  const Peer& peer_;
  bool joined_ = false;
  bool exceptions_;
  bool yielded_ = false;
  bool eof_ = false;
  JobId excepted_ = 0;
  std::string client_id_;
  std::unique_ptr<Arriving> arriving_;  // a packet that is not whole yet
  Slices answer_;                       // to the last message, not complete yet
  std::unique_ptr<Pending> body_;
  std::unique_ptr<Submitting> submit_;
  WatchRights watch_rights_;
};

}  // namespace gearstalk::gearman
