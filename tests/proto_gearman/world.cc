#include "tests/proto_gearman/world.h"

#include <array>
#include <utility>

namespace gearstalk::gearman {
namespace {

std::string BigEndian(std::uint32_t value) {
  std::string bytes;
  for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(value >> shift & 0xff);
  return bytes;
}

std::string Packet(std::string_view magic, PacketType type,
                   std::initializer_list<std::string_view> parts) {
  std::string payload;
  for (const auto& part : parts) {
    if (&part != parts.begin()) payload += '\0';
    payload += part;
  }
  return Raw(magic, static_cast<std::uint32_t>(type), static_cast<std::uint32_t>(payload.size()),
             payload);
}

}  // namespace

std::string Raw(std::string_view magic, std::uint32_t type, std::uint32_t size,
                std::string_view payload) {
  return std::string(magic) + BigEndian(type) + BigEndian(size) + std::string(payload);
}

std::string Req(PacketType type, std::initializer_list<std::string_view> parts) {
  return Packet(kRequest, type, parts);
}

std::string Res(PacketType type, std::initializer_list<std::string_view> parts) {
  return Packet(kResponse, type, parts);
}

std::string ErrorRes(std::string_view code, std::string_view text) {
  return Res(PacketType::kError, {code, text});
}

std::string Handle(std::uint64_t id) { return std::string("H:test:").append(std::to_string(id)); }

std::string Incomplete(std::string_view word) {
  return "ERR INVALID_ARGUMENTS An+incomplete+set+of+arguments+was+sent+to+this+command+" +
         std::string(word) + "\r\n";
}

Connection::Connection(World& world, gearstalk::Peer peer)
    : Socketless(world.clock, std::move(peer)), world_(world) {
  set_session(world.protocol.NewSession(*this));
}

std::string Connection::Say(std::string_view bytes, Scope scope) {
  Receive(bytes, scope);
  return Hear();
}

std::string Connection::SayCut(std::string_view bytes, std::size_t cut) {
  std::string heard = Say(bytes.substr(0, cut));
  return heard += Say(bytes.substr(cut));
}

void Connection::OnOperatorAct(const OperatorAct& act) {
  std::string words(act.action);
  for (const std::string_view word : {act.tube, act.subject, act.name, act.result}) {
    words.append(" ").append(word.empty() ? "-" : word);
  }
  acts_.push_back(std::move(words));
}

std::string Connection::HearDurable() {
  std::string heard;
  std::array<iovec, 64> pieces;
  const int count = out().Gather(pieces.data(), pieces.size(), world_.journal->Durable());
  for (int i = 0; i < count; ++i) {
    const iovec& piece = pieces[static_cast<std::size_t>(i)];
    heard.append(static_cast<const char*>(piece.iov_base), piece.iov_len);
  }
  if (!heard.empty()) out().Consume(heard.size());
  return heard;
}

Options World::DefaultOptions() {
  Options options;
  options.server_name = "test";
  options.version = "1.2.3";
  return options;
}

World::World(Options options, EngineOptions engine_options, std::unique_ptr<Journal> kept_in)
    : SocketlessBroker(engine_options, std::move(kept_in)),
      protocol(std::move(options), engine, *this) {}

World::~World() { connections_.clear(); }

Connection& World::Connect(std::string_view address, bool local) {
  gearstalk::Peer peer;
  peer.fd = next_fd_++;
  peer.id = static_cast<std::uint64_t>(peer.fd);
  peer.address = address;
  peer.local = local;
  return *connections_.emplace_back(std::make_unique<Connection>(*this, std::move(peer)));
}

void World::Disconnect(Connection& connection) {
  std::erase_if(connections_, [&](const auto& each) { return each.get() == &connection; });
}

ConnectionList::Entry World::Next(int fd) const {
  for (const auto& connection : connections_) {
    if (connection->peer().fd >= fd) return {&connection->peer(), connection->session()};
  }
  return {};
}

}  // namespace gearstalk::gearman
