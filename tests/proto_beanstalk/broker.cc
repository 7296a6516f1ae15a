#include "tests/proto_beanstalk/broker.h"

#include <algorithm>
#include <utility>

namespace gearstalk::beanstalk {
namespace {

Identity TestIdentity(Time started) {
  return {.version = "1.2.3",
          .instance = "0123456789abcdef",
          .hostname = "host",
          .os = "#1 SMP",
          .platform = "x86_64",
          .pid = 4321,
          .started = started};
}

}  // namespace

Broker::Broker(Options options) : Broker(options, std::make_unique<MemoryJournal>()) {}

Broker::Broker(Options options, std::unique_ptr<Journal> the_journal)
    : journal(std::move(the_journal)),
      engine({}, *journal),
      protocol(options, TestIdentity(clock.Now()), engine, connections) {}

void Broker::Pass(Time by) {
  clock.Advance(by);
  while (engine.Tick(clock.Now()) <= clock.Now()) {
  }
}

Client::Client(Broker& broker) : broker_(broker), session_(broker.protocol.NewSession(*this)) {}

Client::~Client() = default;

std::string Client::Say(std::string_view bytes) {
  input_ += bytes;
  Run();
  return out_.TakeAll();
}

std::string Client::Hear() {
  if (std::exchange(resumed_, false)) Run();
  return out_.TakeAll();
}

std::string Client::Stream(std::string_view bytes, std::size_t read) {
  while (!bytes.empty()) {
    const std::span<char> space = session_->BodySpace();
    const std::size_t room = space.empty() ? read : std::min(read, space.size());
    const std::string_view piece = bytes.substr(0, room);
    bytes.remove_prefix(piece.size());
    if (space.empty()) {
      input_ += piece;
    } else {
      std::copy(piece.begin(), piece.end(), space.begin());
      session_->OnBody(piece.size());
      ++direct_reads_;
    }
    Run();
  }
  return out_.TakeAll();
}

std::string Client::Eof() {
  session_->OnEof();
  Run();
  return out_.TakeAll();
}

Next Client::Step(std::string_view bytes) {
  input_ += bytes;
  const InputResult result = session_->OnInput(input_, gearstalk::Session::Scope::kAll);
  EXPECT_LE(result.bytes, input_.size());
  input_.erase(0, result.bytes);
  return result.next;
}

void Client::Run() {
  while (!closed_) {
    switch (Step({})) {
      case Next::kYield:
        ++yields_;
        break;
      case Next::kForeign:
        if (!AnswerUnknown()) return;
        break;
      case Next::kClose:
        closed_ = true;
        return;
      case Next::kGoOn:
      case Next::kBytes:
      case Next::kWait:
        return;
    }
  }
}

bool Client::AnswerUnknown() {
  switch (broker_.protocol.SniffUnknown(input_)) {
    case Claim::kOneMessage:
    case Claim::kYes: {
      const InputResult result = session_->OnInput(input_, gearstalk::Session::Scope::kUnknownLine);
      input_.erase(0, result.bytes);
      return true;
    }
    case Claim::kNo:
      out_.Append("ERR\n");
      input_.erase(0, input_.find('\n') + 1);
      return !input_.empty();
    case Claim::kMaybe:
      break;
  }
  return false;
}

std::string ValueOf(const std::string& reply, const std::string& key) {
  const std::string row = "\n" + key + ": ";
  const std::size_t at = reply.find(row);
  if (at == std::string::npos) return "";
  const std::size_t begin = at + row.size();
  return reply.substr(begin, reply.find('\n', begin) - begin);
}

}  // namespace gearstalk::beanstalk
