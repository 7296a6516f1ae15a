// Two clients whose sockets a router holds, and the owners of their streams, who speak, listen,
// pause and end in any order: nobody hears a byte of the other or one that is out of place, nothing
// is missing where nobody has given up, and nothing is left when all is over. And any frames at
// either end of a link: that end survives them.

#include <sys/socket.h>

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/fuzz/fuzz.h"
#include "tests/router/link_rig.h"
#include "tests/server/client.h"

namespace gearstalk {
namespace {

using Reading = Transport::Reading;
using Then = Transport::Received::Then;

// Turns after which nothing may still be on its way.
constexpr int kMostTurns = 20'000;
// Turns without a change after which nothing is on its way.
constexpr int kQuiet = 8;

// Bytes of one unit of a step's amount.
constexpr std::size_t kUnit = 257;

// At least what one step says.
constexpr std::size_t kPeriod = 65'537;
static_assert(UINT8_MAX * kUnit <= kPeriod);

// Bytes of which each knows its place, as far as kPeriod goes.
const std::string& Bytes() {
  static const std::string bytes = [] {
    std::string made;
    std::uint32_t state = 1;
    for (std::size_t i = 0; i < 2 * kPeriod; ++i) {
      if (i == kPeriod) state = 1;
      state = state * 1'664'525 + 1'013'904'223;
      made += static_cast<char>(state >> 24);
    }
    return made;
  }();
  return bytes;
}

// What side `side` says in conversation `of`, from byte `from` on, kPeriod at most.
std::string_view Said(std::size_t of, std::size_t side, std::size_t from, std::size_t size) {
  return std::string_view(Bytes()).substr((from + of * 7919 + side * 3571) % kPeriod, size);
}

void CheckHeard(std::string_view heard, std::size_t of, std::size_t side) {
  for (std::size_t at = 0; at < heard.size(); at += kPeriod) {
    const std::string_view part = heard.substr(at, kPeriod);
    GS_CHECK(part == Said(of, side, at, part.size()));
  }
}

// A client from its connect to its end, and the owner of its stream.
class Conversation {
 public:
  Conversation(LinkRig& rig, std::size_t number)
      : rig_(rig), number_(number), client_(std::make_unique<Client>(rig.path)) {
    GS_CHECK(client_->connected());
  }

  void Do(int step, std::size_t amount) {
    const std::size_t bytes = amount * kUnit;
    switch (step) {
      case 1:
        if (!half_closed_ && client_ != nullptr) {
          sent_ += client_->Send(Said(number_, 0, sent_, bytes));
        }
        return;
      case 2:
        return Read(bytes + 1);
      case 3:
        half_closed_ = true;
        if (client_ != nullptr) client_->HalfClose();
        return;
      case 4:
        client_ = nullptr;
        return;
      default:
        if (Owner() != nullptr && !ended_) DoOwner(*Owner(), step, amount);
    }
  }

  // Both listen to everything.
  void Listen() {
    Read(SIZE_MAX);
    if (Owner() == nullptr || ended_ || Owner()->then != Then::kOpen) return;
    Owner()->most = 64 * 1024;
    Owner()->stream().SetReading(Reading::kOn);
    Owner()->stream().Mute(false);
  }
  // Changes with every step on the way.
  std::size_t Progress() {
    const std::size_t owners =
        Owner() == nullptr ? 0 : Owner()->heard.size() + Owner()->unsaid.size();
    return owners + heard_.size() + (client_ != nullptr && (client_->ended() || client_->reset()));
  }
  // When nothing is on its way any more.
  void Check() {
    GS_CHECK(Owner() != nullptr);
    CheckHeard(Owner()->heard, number_, 0);
    CheckHeard(heard_, number_, 1);
    GS_CHECK(Owner()->heard.size() <= sent_);
    const std::size_t taken = said_ - Owner()->unsaid.size();
    GS_CHECK(heard_.size() <= taken);
    if (client_ == nullptr) {
      GS_CHECK(ended_ || Owner()->then != Then::kOpen);
      return;
    }
    GS_CHECK(heard_.size() == taken);
    if (ended_) {
      GS_CHECK(client_->ended() || client_->reset());
      return;
    }
    GS_CHECK(Owner()->unsaid.empty() && Owner()->heard.size() == sent_);
    GS_CHECK(Owner()->then == (half_closed_ ? Then::kEnd : Then::kOpen));
  }
  void End() {
    client_ = nullptr;
    if (Owner() != nullptr && !std::exchange(ended_, true)) Owner()->End(true);
  }
  // Whether another may take its place.
  bool over() const { return ended_ && client_ == nullptr; }

 private:
  StreamOwner* Owner() {
    return number_ < rig_.owners.size() ? rig_.owners[number_].get() : nullptr;
  }
  void Read(std::size_t most) {
    if (client_ != nullptr) heard_ += client_->Read(most);
  }
  void DoOwner(StreamOwner& owner, int step, std::size_t amount) {
    switch (step) {
      case 5:
        owner.Say(Said(number_, 1, said_, amount * kUnit));
        said_ += amount * kUnit;
        break;
      case 6:
        if (owner.then == Then::kOpen) {
          owner.stream().SetReading(static_cast<Reading>(amount % 3));
        }
        break;
      case 7:
        owner.stream().Mute(amount % 2 != 0);
        break;
      case 8:
        ended_ = true;
        owner.End(amount % 2 != 0);
        break;
      case 9:
        owner.most = 1 + amount * 16;
        owner.body_flows = amount % 2 != 0;
        break;
      default:
        break;
    }
  }

  LinkRig& rig_;
  const std::size_t number_;
  std::unique_ptr<Client> client_;
  std::string heard_;
  std::size_t sent_ = 0, said_ = 0;
  bool half_closed_ = false;
  bool ended_ = false;  // by its owner
};

class Both {
 public:
  void Run(std::string_view steps) {
    for (; steps.size() >= 2; steps.remove_prefix(2)) {
      Do(static_cast<std::uint8_t>(steps[0]), static_cast<std::uint8_t>(steps[1]));
    }
    Settle();
    for (const auto& one : all_) one->Check();
    for (const auto& one : all_) one->End();
    Settle();
    GS_CHECK(rig_.link->lost().empty());
    GS_CHECK(rig_.link->streams() == 0 && rig_.link->under_way() == 0);
  }

 private:
  void Do(std::uint8_t what, std::uint8_t amount) {
    const int step = what % 128 % 14;
    std::size_t& current = current_[what / 128];
    switch (step) {
      case 0:
        if (current != kNone && !all_[current]->over()) break;
        current = all_.size();
        all_.push_back(std::make_unique<Conversation>(rig_, current));
        break;
      case 10:
        for (int i = 0; i <= amount % 8; ++i) rig_.Turn();
        break;
      case 11:
        rig_.router->Turn(0);
        break;
      case 12:
        rig_.TurnBroker();
        break;
      case 13:
        rig_.link->Flush();
        break;
      default:
        if (current != kNone) all_[current]->Do(step, amount);
    }
  }

  // Until nothing happens any more.
  void Settle() {
    int quiet = 0;
    for (int turn = 0; quiet < kQuiet; ++turn) {
      GS_CHECK(turn < kMostTurns);
      const std::size_t before = Progress();
      rig_.TurnAtOnce();
      for (const auto& one : all_) one->Listen();
      quiet = Progress() == before ? quiet + 1 : 0;
    }
  }
  std::size_t Progress() const {
    std::size_t sum = rig_.link->received_bytes() + rig_.link->sent_bytes();
    for (const auto& one : all_) sum += one->Progress();
    return sum;
  }

  static constexpr std::size_t kNone = SIZE_MAX;
  LinkRig rig_;
  std::vector<std::unique_ptr<Conversation>> all_;
  std::array<std::size_t, 2> current_{kNone, kNone};
};

// The broker's end, whose router says anything.
class AnyRouter final : private LinkHost {
 public:
  void Run(std::string_view bytes) {
    const link::LinkParts parts = link::MakeLink().value();
    auto end = link::LinkEnd::Open(parts.sockets[0], parts.memory, link::LinkEnd::Side::kBroker);
    link_ =
        std::make_unique<RouterLink>(loop_, std::move(end.value()), static_cast<LinkHost&>(*this));
    auto any = std::make_unique<link::AnyEnd>(parts, link::LinkEnd::Side::kRouter);
    close(parts.memory);
    // In two parts, so that a frame is cut somewhere.
    for (const std::string_view part :
         {bytes.substr(0, bytes.size() / 2), bytes.substr(bytes.size() / 2)}) {
      any->Say(part);
      for (int i = 0; i < 4; ++i) Turn();
    }
    for (std::size_t i = 0; i < owners_.size(); i += 2) owners_[i]->End(true);
    Turn();
    any = nullptr;
    Turn();
    GS_CHECK(!link_->lost().empty());
    link_ = nullptr;
    loop_.RunOnce(0, 0);
    for (const auto& owner : owners_) GS_CHECK(owner->ended() || owner->then != Then::kOpen);
  }

 private:
  void Turn() {
    loop_.RunOnce(0, 0);
    link_->Flush();
  }
  void BeginRound() override {}
  void OnOpen(RouterLink& of, std::uint32_t number, const link::Open& open) override {
    if (open.port == 1) return;  // not wanted
    owners_.push_back(std::make_unique<StreamOwner>(due_, of, number));
    owners_.back()->Say("hello");
  }
  bool MayWelcome() override { return owners_.size() % 3 != 2; }
  void OnNoDescriptors(std::string_view /*error*/) override {}

  EventLoop loop_;
  DueStreams due_{loop_, [] {}};
  std::unique_ptr<RouterLink> link_;
  std::vector<std::unique_ptr<StreamOwner>> owners_;
};

std::string FrameOf(link::Kind kind, std::string_view payload) {
  std::string frame(link::kHead, '\0');
  link::StoreHead(frame.data(), 0, kind, payload.size());
  return frame.append(payload);
}

// A router with two clients, whose broker says anything.
void RunAnyBroker(std::string_view bytes) {
  const link::LinkParts parts = link::MakeLink().value();
  auto end = link::LinkEnd::Open(parts.sockets[1], parts.memory, link::LinkEnd::Side::kRouter);
  const std::string path = "/tmp/gs-any-broker-" + std::to_string(getpid());
  auto socket = OpenOne(ListenAddress::Parse("unix:" + path).value());
  GS_CHECK(socket.ok() && socket.value()->Start().ok());
  EventLoop loop;
  SystemClock clock;
  Router router(loop, clock, std::move(end.value()), {dup(socket.value()->fd())});
  auto broker = std::make_unique<link::AnyEnd>(parts, link::LinkEnd::Side::kBroker);
  close(parts.memory);
  broker->Say(FrameOf(link::Kind::kReload, link::Encode(LinkRig::OfOneListener())));
  broker->Say(FrameOf(link::Kind::kListen, std::string(1, '\1')));
  Client one(path), two(path);
  one.Send("one");
  two.Send("two");
  bool lives = true;
  for (int i = 0; i < 4 && lives; ++i) lives = router.Turn(0);
  for (const std::string_view part :
       {bytes.substr(0, bytes.size() / 2), bytes.substr(bytes.size() / 2)}) {
    if (lives) broker->Say(part);
    for (int i = 0; i < 4 && lives; ++i) lives = router.Turn(0);
    one.Read();
  }
  broker = nullptr;
  for (int i = 0; i < 4 && lives; ++i) lives = router.Turn(0);
  GS_CHECK(!lives);
}

}  // namespace
}  // namespace gearstalk

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace gearstalk;
  if (size == 0) return 0;
  const std::string_view rest = AsBytes(data + 1, size - 1);
  if (data[0] % 3 == 0) Both().Run(rest);
  if (data[0] % 3 == 1) AnyRouter().Run(rest);
  if (data[0] % 3 == 2) RunAnyBroker(rest);
  return 0;
}
