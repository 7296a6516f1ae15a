#include "tests/proto_beanstalk/broker.h"

#include <utility>

#include "tests/support/identity.h"

namespace gearstalk::beanstalk {

Broker::Broker(Options options, std::unique_ptr<Journal> kept_in)
    : SocketlessBroker({}, std::move(kept_in)),
      protocol(options, TestIdentity(clock.Now()), engine, connections) {}

Client::Client(Broker& broker) : Socketless(broker.clock, {}), broker_(broker) {
  set_session(broker.protocol.NewSession(*this));
}

std::string Client::Say(std::string_view bytes) {
  Receive(bytes);
  return out().TakeAll();
}

std::string Client::Hear() {
  if (resumed()) Run();
  return out().TakeAll();
}

std::string Client::Stream(std::string_view bytes, std::size_t read) {
  while (!bytes.empty()) {
    const std::string_view piece = bytes.substr(0, read);
    bytes.remove_prefix(piece.size());
    Receive(piece);
  }
  return out().TakeAll();
}

std::string Client::Eof() {
  ReceiveEof();
  return out().TakeAll();
}

bool Client::OnForeign() {
  switch (broker_.protocol.SniffUnknown(input())) {
    case Claim::kOneMessage:
    case Claim::kYes:
      Step({}, Scope::kUnknownLine);
      return true;
    case Claim::kNo:
      out().Append("ERR\n");
      input().erase(0, input().find('\n') + 1);
      return !input().empty();
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
