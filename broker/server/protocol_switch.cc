#include "broker/server/protocol_switch.h"

#include <algorithm>
#include <optional>

#include "broker/base/check.h"

namespace gearstalk {
namespace {

// First words of an HTTP request, which no protocol here knows.
constexpr std::array<std::string_view, 10> kHttpWords = {
    "GET", "POST", "HEAD", "PUT", "DELETE", "OPTIONS", "PATCH", "CONNECT", "TRACE", "Host:"};

// No target of HTTP begins with a digit: `PUT 0 0 1 1` is a beanstalk client that writes capitals.
Claim SniffHttp(std::string_view line) {
  const std::string_view word = line.substr(0, line.find_first_of(" \r\n"));
  const std::string_view rest = line.substr(word.size());
  const bool known = std::any_of(kHttpWords.begin(), kHttpWords.end(), [&](std::string_view http) {
    return rest.empty() ? http.starts_with(word) : http == word;
  });
  if (!known) return Claim::kNo;
  if (rest.empty() || rest == " ") return Claim::kMaybe;
  return rest[0] == ' ' && rest[1] >= '0' && rest[1] <= '9' ? Claim::kNo : Claim::kYes;
}

}  // namespace

ProtocolSwitch::ProtocolSwitch(std::span<Protocol* const> protocols, Wire& wire)
    : protocols_(protocols), wire_(wire) {
  GS_CHECK(!protocols.empty() && protocols.size() <= kMaxProtocols);
  const auto greeted = std::count_if(protocols.begin(), protocols.end(),
                                     [](const Protocol* each) { return each->NeedsGreeting(); });
  alone_ = Count() - greeted == 1 && !protocols.front()->NeedsGreeting();
  if (!alone_) return;
  SetOwner(0);
  state_ = State::kGreeting;
}

ProtocolSwitch::~ProtocolSwitch() {
  if (owner_ >= 0) --protocols_[static_cast<std::size_t>(owner_)]->connections_;
}

void ProtocolSwitch::SetOwner(int index) {
  SessionOf(index);
  owner_ = index;
  state_ = State::kOwned;
  ++protocols_[static_cast<std::size_t>(index)]->connections_;
}

// The first bytes of a connection can select another protocol than that of its listener.
Claim ProtocolSwitch::SniffGreeting(std::string_view bytes) {
  for (int i = 1; i < Count(); ++i) {
    const Claim claim = protocols_[static_cast<std::size_t>(i)]->Sniff(bytes);
    if (claim == Claim::kMaybe) return claim;
    if (claim != Claim::kYes) continue;
    --protocols_[static_cast<std::size_t>(owner_)]->connections_;
    sessions_[static_cast<std::size_t>(owner_)] = nullptr;
    SetOwner(i);
    return claim;
  }
  return Claim::kNo;
}

Session& ProtocolSwitch::SessionOf(int index) {
  auto& session = sessions_[static_cast<std::size_t>(index)];
  if (session == nullptr) session = protocols_[static_cast<std::size_t>(index)]->NewSession(wire_);
  return *session;
}

const Session* ProtocolSwitch::Describing() const {
  if (owner_ >= 0) return owner();
  for (const auto& session : sessions_) {
    if (session != nullptr) return session.get();
  }
  return nullptr;
}

bool ProtocolSwitch::Idle() const {
  return state_ != State::kAnswering &&
         std::all_of(sessions_.begin(), sessions_.end(),
                     [](const auto& session) { return session == nullptr || session->Idle(); });
}

std::span<char> ProtocolSwitch::BodySpace() {
  const bool has_none = owner_ < 0 || state_ == State::kAnswering;
  return has_none ? std::span<char>() : owner()->BodySpace();
}

void ProtocolSwitch::OnEof() {
  for (const auto& session : sessions_) {
    if (session != nullptr) session->OnEof();
  }
}

bool ProtocolSwitch::Leave() {
  return std::all_of(sessions_.begin(), sessions_.end(),
                     [](const auto& session) { return session == nullptr || session->Leave(); });
}

InputResult ProtocolSwitch::OnInput(std::string_view bytes) {
  if (state_ == State::kGreeting && !bytes.empty()) {
    const Claim http = SniffHttp(bytes);
    if (http == Claim::kYes) return RefuseHttp();
    if (http == Claim::kMaybe || SniffGreeting(bytes) == Claim::kMaybe) return {0, Next::kBytes};
    state_ = State::kOwned;
  }
  std::size_t used = 0;
  // Most input is run by one call, which needs no turn.
  std::optional<Turn> turn;
  for (;;) {
    const InputResult result = RunNext(bytes);
    used += result.bytes;
    bytes.remove_prefix(result.bytes);
    // kForeign from here means: one message was answered, look again.
    if (result.next != Next::kForeign) return {used, result.next};
    if (bytes.empty() && owner_ < 0) return {used, Next::kBytes};
    if (!turn) turn.emplace(wire_.share(), wire_.out());
    if (turn->Over(wire_.out()) && !bytes.empty()) return {used, Next::kYield};
    turn->Count();
  }
}

InputResult ProtocolSwitch::RunNext(std::string_view bytes) {
  switch (state_) {
    case State::kGreeting:
    case State::kOwned:
      return RunOwner(bytes);
    case State::kAnswering:
      return RunGuest(answering_, {}, Session::Scope::kOneMessage);
    case State::kUndecided:
      break;
  }
  return bytes.empty() ? InputResult{0, Next::kBytes} : Foreign(bytes);
}

InputResult ProtocolSwitch::RunOwner(std::string_view bytes) {
  InputResult result = owner()->OnInput(bytes, Session::Scope::kAll);
  if (result.next != Next::kForeign) return result;
  bytes.remove_prefix(result.bytes);
  const InputResult other = alone_ ? Unknown(bytes) : Foreign(bytes);
  return {result.bytes + other.bytes, other.next};
}

InputResult ProtocolSwitch::Foreign(std::string_view bytes) {
  bool maybe = false;
  for (int i = 0; i < Count(); ++i) {
    if (i == owner_) continue;
    switch (protocols_[static_cast<std::size_t>(i)]->Sniff(bytes)) {
      case Claim::kYes:
        if (owner_ >= 0) break;  // an owned connection takes only admin lines of other protocols
        SetOwner(i);
        return {0, Next::kForeign};
      case Claim::kOneMessage:
        guest_ = i;
        return RunGuest(i, bytes, Session::Scope::kOneMessage);
      case Claim::kMaybe:
        maybe = true;
        break;
      case Claim::kNo:
        break;
    }
  }
  return maybe ? InputResult{0, Next::kBytes} : Unknown(bytes);
}

// No protocol knows the word. The owner answers if it answers unknown lines, else another protocol
// that does. A connection without an owner that has sent only admin lines of one protocol belongs
// to that protocol.
InputResult ProtocolSwitch::Unknown(std::string_view bytes) {
  if (SniffHttp(bytes) == Claim::kYes) return RefuseHttp();
  if (alone_) return RunGuest(0, bytes, Session::Scope::kUnknownLine);
  if (owner_ < 0 && guest_ >= 0) return RunGuest(guest_, bytes, Session::Scope::kUnknownLine);
  bool maybe = false;
  const int first = std::max(owner_, 0);
  for (int i = 0; i < Count(); ++i) {
    const int index = (first + i) % Count();
    const Claim claim = protocols_[static_cast<std::size_t>(index)]->SniffUnknown(bytes);
    if (claim == Claim::kYes && owner_ < 0) SetOwner(index);
    if (claim == Claim::kOneMessage || claim == Claim::kYes) {
      return RunGuest(index, bytes, Session::Scope::kUnknownLine);
    }
    maybe = maybe || claim == Claim::kMaybe;
  }
  if (maybe) return {0, Next::kBytes};
  return RunGuest(first, bytes, Session::Scope::kUnknownLine);
}

// A web page must not be able to send commands from its reader's browser.
InputResult ProtocolSwitch::RefuseHttp() {
  wire_.OnRefused(Refusal::kHttp, {});
  return {0, Next::kClose};
}

// Runs one message; kForeign says that it ran and that the next one is to be looked at afresh.
InputResult ProtocolSwitch::RunGuest(int index, std::string_view bytes, Session::Scope scope) {
  const bool was_busy = state_ == State::kAnswering && answering_ == index;
  const InputResult result = SessionOf(index).OnInput(bytes, scope);
  const bool busy = result.next == Next::kYield || result.next == Next::kWait;
  answering_ = busy ? index : -1;
  state_ = busy ? State::kAnswering : owner_ < 0 ? State::kUndecided : State::kOwned;
  const bool ran = result.next == Next::kBytes && (result.bytes > 0 || was_busy);
  return ran ? InputResult{result.bytes, Next::kForeign} : result;
}

}  // namespace gearstalk
