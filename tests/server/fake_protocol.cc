#include "tests/server/fake_protocol.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace gearstalk {
namespace {

constexpr std::size_t kPieceSize = 65536;

std::size_t Number(std::string_view text) {
  std::size_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

bool SameLetter(char a, char b) { return (a | 0x20) == (b | 0x20); }

}  // namespace

class FakeSession final : public Session {
 public:
  FakeSession(FakeProtocol& protocol, Wire& wire) : protocol_(protocol), wire_(wire) {
    protocol_.sessions_.push_back(this);
    ++protocol_.created;
  }
  ~FakeSession() override { std::erase(protocol_.sessions_, this); }

  InputResult OnInput(std::string_view bytes, Scope scope) override {
    const std::size_t size = bytes.size();
    Turn turn(wire_.share(), wire_.out());
    for (;;) {
      const Next next = Step(bytes, scope);
      if (next != Next::kBytes) return {size - bytes.size(), next};
      if (!ran_ || scope != Scope::kAll) return {size - bytes.size(), Next::kBytes};
      turn.Count();
      if (turn.Over(wire_.out()) && !bytes.empty()) return {size - bytes.size(), Next::kYield};
    }
  }

  std::span<char> BodySpace() override {
    if (missing_ == 0) return {};
    body_.resize(missing_);
    return body_;
  }
  void OnBody(std::size_t size) override {
    last_ = body_[size - 1];
    direct_ += size;
    missing_ -= size;
  }
  void OnEof() override {
    eof_ = true;
    if (waits_) Say("end");
    waits_ = false;
  }

  bool Leave() override {
    if (!left_ && steps_to_leave_-- <= 0) {
      left_ = true;
      ++protocol_.left;
    }
    return left_;
  }
  bool Idle() const override { return !waits_; }

  void Release() {
    if (!waits_) return;
    waits_ = false;
    Say("released");
    wire_.Resume();
  }

 private:
  // Sets ran_ if a message was run.
  Next Step(std::string_view& bytes, Scope scope) {
    ran_ = false;
    if (waits_) return Next::kWait;
    if (yields_ > 0) return GoOnYielding();
    if (in_body_) return TakeBody(bytes);
    if (bytes.empty()) return Next::kBytes;
    const std::size_t end = bytes.find('\n');
    const std::string_view line = bytes.substr(0, end);
    if (scope != Scope::kUnknownLine && !protocol_.Knows(line)) return Next::kForeign;
    if (end == std::string_view::npos) return Next::kBytes;
    bytes.remove_prefix(end + 1);
    ran_ = true;
    ++protocol_.commands;
    if (scope == Scope::kUnknownLine) {
      Say(std::string(protocol_.name()) + "?" + std::string(line));
      return Next::kBytes;
    }
    return Run(line.substr(std::min<std::size_t>(line.size(), 2)));
  }

  Next Run(std::string_view command) {
    const std::size_t blank = std::min(command.find(' '), command.size());
    const std::string_view verb = command.substr(0, blank);
    const std::string_view rest = command.substr(std::min(blank + 1, command.size()));
    if (verb == "close") {
      Say("bye");
      return Next::kClose;
    }
    if (verb == "wait" && eof_) Say("end");
    if (verb == "wait" && !eof_) {
      waits_ = true;
      return Next::kWait;
    }
    if (verb == "stay") {
      steps_to_leave_ = static_cast<int>(Number(rest));
      Say("stay");
    }
    if (verb == "slow") {
      yields_ = static_cast<int>(Number(rest));
      return Next::kYield;
    }
    if (verb == "echo") {
      protocol_.on_echo();
      Say(rest);
    }
    if (verb == "big") SayMuch(Number(rest));
    if (verb == "others") {
      SayMuch(Number(rest));
      wire_.out().NoteUnasked(Number(rest));
    }
    if (verb == "hold") {
      wire_.out().HoldUntil(Number(rest));
      Say("held " + std::string(rest));
    }
    if (verb == "body") {
      in_body_ = true;
      missing_ = Number(rest);
    }
    return Next::kBytes;
  }

  Next GoOnYielding() {
    if (--yields_ > 0) return Next::kYield;
    Say("slow");
    ran_ = true;
    return Next::kBytes;
  }

  Next TakeBody(std::string_view& bytes) {
    const std::size_t part = std::min(bytes.size(), missing_);
    if (part > 0) last_ = bytes[part - 1];
    bytes.remove_prefix(part);
    missing_ -= part;
    if (missing_ > 0) return Next::kBytes;
    Say("body " + std::to_string(direct_) + " " + last_);
    in_body_ = false;
    direct_ = 0;
    ran_ = true;
    return Next::kBytes;
  }

  void Say(std::string_view text) {
    wire_.out().Append(text);
    wire_.out().Append("\n");
  }

  void SayMuch(std::size_t size) {
    static const std::string kPiece(kPieceSize, 'x');
    for (; size > 0; size -= std::min(size, kPieceSize)) {
      wire_.out().AppendShared(std::string_view(kPiece).substr(0, size), Pin());
    }
    Say("");
  }

  FakeProtocol& protocol_;
  Wire& wire_;
  bool ran_ = false;
  bool waits_ = false;
  bool eof_ = false;
  bool in_body_ = false;
  int yields_ = 0;
  int steps_to_leave_ = 0;
  bool left_ = false;
  std::size_t missing_ = 0;
  std::size_t direct_ = 0;
  char last_ = '-';
  std::string body_;
};

bool FakeProtocol::Knows(std::string_view line) const {
  return !line.empty() && SameLetter(line[0], name_[0]) && (line.size() == 1 || line[1] == ' ');
}

Claim FakeProtocol::Sniff(std::string_view bytes) const {
  if (!Knows(bytes)) return Claim::kNo;
  if (bytes.size() == 1) return Claim::kMaybe;
  return bytes[0] == name_[0] ? Claim::kYes : Claim::kOneMessage;
}

Claim FakeProtocol::SniffUnknown(std::string_view bytes) const {
  if (unknown_ == Answers::kNothing) return Claim::kNo;
  const std::size_t end = bytes.find('\n');
  if (end == std::string_view::npos) return Claim::kMaybe;
  const bool crlf = bytes.substr(0, end).ends_with('\r');
  return crlf == (unknown_ == Answers::kCrLf) ? Claim::kOneMessage : Claim::kNo;
}

std::unique_ptr<Session> FakeProtocol::NewSession(Wire& wire) {
  return std::make_unique<FakeSession>(*this, wire);
}

void FakeProtocol::Release() {
  for (FakeSession* session : sessions_) session->Release();
}

}  // namespace gearstalk
