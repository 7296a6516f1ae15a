#include "tests/simulation/operator.h"

#include <algorithm>
#include <set>
#include <utility>

#include "tests/simulation/world.h"

namespace gearstalk::simulation {
namespace {

using transfer::Type;

constexpr Time kSilence = 30 * kSecond;
constexpr Time kStep = 10 * kMillisecond;
constexpr const char* kImport = "import";
constexpr const char* kHandBack = "hand-back";

transfer::Opening OpeningOf(const char* name) {
  transfer::Opening opening;
  opening.name = opening.kind = name;
  opening.fingerprint = "the old server";
  opening.ids = transfer::Ids::kNew;
  opening.any_fingerprint = name == std::string_view(kHandBack);
  return opening;
}

}  // namespace

// --- Line

Line::Line(World& world, Operator& owner)
    : world_(world), owner_(owner), connection_(world.Accept(*this)) {
  owner_.SetLine(this);
}

Line::~Line() {
  static_cast<void>(Close());
  owner_.SetLine(nullptr);
}

Status Line::Close() {
  if (Connection* const connection = std::exchange(connection_, nullptr)) {
    connection->SetEar(nullptr);
    connection->Break();
  }
  return {};
}

// Somebody interrupts the tool, or the network does.
bool Line::BreaksOff() {
  if (!world_.plan().Has(Feature::kResets) || world_.healed() || !world_.random().OneIn(40))
    return false;
  world_.Say("the operator's connection breaks");
  static_cast<void>(Close());
  return true;
}

Status Line::Write(std::string_view bytes) {
  if (connection_ == nullptr) return {Code::kIo, "closed"};
  out_ += bytes;
  ArriveIn(world_.random().Between(50 * kMicrosecond, kMillisecond));
  return {};
}

void Line::ArriveIn(Time delay) {
  world_.After(delay, [owner = &owner_, number = owner_.number()] {
    if (Line* const line = owner->LineOf(number)) line->Arrive();
  });
}

// In pieces; a paused process reads later.
void Line::Arrive() {
  if (connection_ == nullptr || out_.empty()) return;
  if (world_.awake_at() > world_.now()) return ArriveIn(world_.awake_at() - world_.now());
  const std::size_t size =
      world_.random().Percent(70) ? out_.size() : 1 + world_.random().Below(out_.size());
  const std::string piece = out_.substr(0, size);
  out_.erase(0, size);
  if (!out_.empty()) ArriveIn(world_.random().Between(0, kMillisecond));
  connection_->Receive(piece);
}

Status Line::Read(std::string& bytes, int /*timeout_ms*/) {
  if (BreaksOff()) return {Code::kIo, "broken off"};
  const Time limit = world_.now() + kSilence;
  while (in_.empty()) {
    if (connection_ == nullptr || !world_.ledger().ok()) return {Code::kIo, "closed"};
    if (world_.now() >= limit) return {Code::kIo, "silent"};
    world_.GoOn(kStep);
  }
  bytes += std::exchange(in_, {});
  return {};
}

void Line::Sleep(unsigned milliseconds) { world_.GoOn(milliseconds * kMillisecond); }

// --- Operator

void Operator::SetLine(Line* line) {
  line_ = line;
  ++number_;
}

void Operator::OnCrash() {
  if (line_ != nullptr) line_->OnClosed();
}

void Operator::Begin() {
  begun_ = true;
  world_.After(world_.random().Between(kSecond, 15 * kSecond), [this] {
    if (world_.healed()) return;
    if (!acts_) Act();
    Begin();
  });
}

std::unique_ptr<ctl::TransferClient> Operator::Connect() {
  if (world_.broker() == nullptr) return nullptr;
  auto client = ctl::TransferClient::Over(std::make_unique<Line>(world_, *this));
  return client.ok() ? std::move(client.value()) : nullptr;
}

void Operator::Act() {
  // What damage takes from a mark cannot be told from an error.
  if (world_.ledger().damaged()) return;
  acts_ = true;
  if (const auto client = Connect(); client != nullptr && Settle(*client)) {
    const bool brings = world_.random().OneIn(2);
    if (brings && !finishing_) AddToSource();
    const bool done = brings || finishing_ ? Import(*client) : HandBack(*client);
    world_.Say(std::string("the operator's ") + (brings ? kImport : kHandBack) +
               (done ? " is done" : " is broken off"));
  }
  acts_ = false;
}

void Operator::Finish() {
  if (!begun_) return;
  finishing_ = true;
  const Time limit = world_.now() + 200 * kSecond;
  bool imported = false;  // the broker may forget the mark and die before it says so
  while (world_.ledger().ok() && !world_.ledger().damaged()) {
    const auto client = Connect();
    if (client != nullptr && Settle(*client)) {
      imported = imported || Import(*client);
      if (imported && Forget(*client)) return;
    }
    if (world_.now() > limit) return world_.ledger().Fail("a transfer does not come to its end");
    world_.GoOn(kSecond);
  }
}

// --- Import

void Operator::AddToSource() {
  Random& random = world_.random();
  for (std::uint64_t count = 1 + random.Below(4); count > 0; --count) {
    const std::string& tube = random.Of(world_.tubes());
    if (World::HasPolicy(tube) && world_.GroupsOf(tube) == nullptr) continue;
    KnownJob job{.tube = tube,
                 .priority = static_cast<std::uint32_t>(random.Below(3)),
                 .ttr_s = static_cast<std::uint32_t>(1 + random.Below(30))};
    job.size = random.Below(300);
    job.asked = world_.now();
    job.touched = true;
    job.aside = random.OneIn(8);  // it comes buried
    world_.ChooseGroup(job);
    source_.push_back(&world_.ledger().Ask(std::move(job)));
  }
}

std::string Operator::FrameOf(const KnownJob& job, std::uint64_t place) {
  const std::string body = Ledger::BodyOf(job);
  const std::string key = std::to_string(job.token);
  const std::string unique = job.grouped && job.group.size() < 60 ? job.group + ":" + key : "";
  Record record;
  record.tube = job.tube;
  record.priority = job.priority;
  record.ttr_s = job.ttr_s;
  record.body = body;
  record.unique = unique;
  record.keep_on_failure = true;
  if (job.aside) record.state = Record::State::kBuried;
  std::string frame;
  frames_.Append(frame, Type::kPut, record, {.source_key = key, .settled = place});
  return frame;
}

Result<ctl::OpenedTransfer> Operator::Open(ctl::TransferClient& client, const char* name) {
  auto opened = client.Open(OpeningOf(name));
  const bool damaged =
      !opened.ok() && opened.status().message().find("damaged") != std::string::npos;
  if (damaged) world_.ledger().Fail("a damaged mark");
  return opened;
}

// False: the broker has lost some of it.
bool Operator::TakeMark(const transfer::Mark& mark) {
  Ledger& ledger = world_.ledger();
  if (ledger.damaged()) return false;
  if (mark.settled < settled_ || mark.settled > source_.size() ||
      mark.moved + mark.joined + mark.refused != mark.settled) {
    ledger.Fail("the mark of the import says " + std::to_string(mark.settled) + ", and " +
                std::to_string(settled_) + " of " + std::to_string(source_.size()) + " were told");
    return false;
  }
  std::set<std::string> others;
  for (const transfer::MarkedJob& each : mark.jobs) others.insert(each.key);
  for (; settled_ < mark.settled; ++settled_) {
    KnownJob& job = *source_[settled_];
    job.there = true;
    if (others.contains(std::to_string(job.token))) job.ended = true;
  }
  return true;
}

bool Operator::Import(ctl::TransferClient& client) {
  const auto of = Open(client, kImport);
  if (!of.ok() || !TakeMark(of.value().mark)) return false;
  if (settled_ == source_.size()) return true;
  Ledger& ledger = world_.ledger();
  const JobId floor = ledger.highest_id();
  const std::uint64_t first = settled_, end = source_.size();
  for (std::uint64_t place = first; place < end; ++place)
    client.AddBytes(FrameOf(*source_[place], place + 1));
  const auto ack = client.Sync();
  if (!ack.ok()) return false;
  if (ack.value().ids.size() != end - first || ack.value().settled != end)
    return ledger.Fail("an import was answered in part"), false;
  settled_ = end;
  for (std::uint64_t place = first; place < end; ++place) {
    KnownJob& job = *source_[place];
    const JobId id = ack.value().ids[place - first];
    if (id == 0) {
      job.ended = true;  // its group is missing
      continue;
    }
    world_.CheckDurable(id);
    ledger.OnPut(job, id, floor, world_.now(), /*stale=*/true);
  }
  return true;
}

// --- Hand-back

Operator::Lent& Operator::LentOf(KnownJob& job) {
  for (Lent& lent : lent_) {
    if (lent.job == &job) return lent;
  }
  world_.ledger().OnLendAsked(job);
  return lent_.emplace_back(Lent{&job});
}

Result<transfer::End> Operator::Collect(ctl::TransferClient& client, Type type,
                                        const transfer::Selection& selection,
                                        const std::function<void(KnownJob&)>& visit) {
  Ledger& ledger = world_.ledger();
  return client.Ask(type, selection, [&](const transfer::Frame& frame) -> Status {
    if (ledger.damaged()) return {Code::kIo, "damaged"};
    Record record;
    if (Status read = client.Read(frame, record); !read.ok()) return read;
    KnownJob* const job = ledger.OfBody(record.body);
    if (job == nullptr) return {Code::kIo, "a job that nobody put"};
    if (job->id == 0) ledger.Learn(*job, record.id);
    if (job->id != record.id || record.transfer.held == Record::Held::kNot)
      ledger.Fail("a transfer holds job " + std::to_string(record.id) + " by mistake");
    if (job->ended) ledger.Fail("job " + std::to_string(record.id) + " is held after its end");
    visit(*job);
    return {};
  });
}

std::vector<std::uint64_t> Operator::HeldIds() const {
  std::vector<std::uint64_t> ids;
  for (const Lent& lent : lent_) {
    if (lent.held) ids.push_back(lent.job->id);
  }
  return ids;
}

bool Operator::HandBack(ctl::TransferClient& client) {
  const auto of = Open(client, kHandBack);
  if (!of.ok()) return false;
  Random& random = world_.random();
  const std::string& tube = random.Of(world_.tubes());
  if (World::HasPolicy(tube) && world_.GroupsOf(tube) == nullptr) return true;
  transfer::Selection selection;
  selection.tubes = {tube};
  selection.most = 1 + random.Below(4);
  unsettled_ = true;
  world_.ledger().SetLending(tube);
  world_.ledger().VisitTube(tube, [&](KnownJob& job) {
    world_.ledger().OnLendAsked(job);
    lent_.push_back({&job});
  });
  const auto end =
      Collect(client, Type::kHoldBack, selection, [&](KnownJob& job) { LentOf(job).held = true; });
  if (!end.ok()) return false;
  std::erase_if(lent_, [&](const Lent& lent) {
    if (!lent.held) world_.ledger().OnStayed(*lent.job);
    return !lent.held;
  });
  if (end.value().jobs != lent_.size()) world_.ledger().Fail("a hand-back counts wrong");
  for (const Lent& lent : lent_) world_.ledger().OnLent(*lent.job);
  world_.ledger().SetLending("");
  if (lent_.empty()) return unsettled_ = false, true;
  return random.OneIn(4) ? Commit(client) : Move(client);
}

// The old server has them, and then they go here.
bool Operator::Move(ctl::TransferClient& client) {
  client.AddIds(Type::kConfirm, HeldIds());
  if (!client.Sync().ok()) return false;
  for (Lent& lent : lent_) lent.dropped = true;
  client.AddIds(Type::kDrop, HeldIds());
  client.Add(Type::kAdvance, transfer::Mark{.moved = lent_.size()});
  if (!client.Sync().ok()) return false;
  EndLoans();
  return true;
}

bool Operator::Commit(ctl::TransferClient& client) {
  for (const Lent& lent : lent_) world_.ledger().OnGivenBack(*lent.job);
  client.AddIds(Type::kCommit, HeldIds());
  if (!client.Sync().ok()) return false;
  for (Lent& lent : lent_) lent.dropped = false;
  EndLoans();
  return true;
}

// The dropped ones are gone, and the others are where they were.
void Operator::EndLoans() {
  for (const Lent& lent : lent_) {
    lent.dropped ? world_.ledger().OnEnded(*lent.job) : world_.ledger().OnStayed(*lent.job);
  }
  lent_.clear();
  unsettled_ = false;
  world_.ledger().SetLending("");
}

// What an interrupted hand-back holds goes back to its queues.
bool Operator::Settle(ctl::TransferClient& client) {
  if (!unsettled_) return true;
  const auto of = Open(client, kHandBack);
  if (!of.ok()) return false;
  for (Lent& lent : lent_) lent.held = false;
  const auto end =
      Collect(client, Type::kListHeld, {}, [&](KnownJob& job) { LentOf(job).held = true; });
  if (!end.ok()) return false;
  std::vector<Lent> held;
  for (const Lent& lent : lent_) {
    if (lent.held) held.push_back({lent.job, true, false});
  }
  std::erase_if(lent_, [](const Lent& lent) { return lent.held; });
  EndLoans();
  lent_ = std::move(held);
  unsettled_ = !lent_.empty();
  return lent_.empty() || Commit(client);
}

bool Operator::Forget(ctl::TransferClient& client) {
  for (; forgotten_ < 2; ++forgotten_) {
    const char* const name = forgotten_ == 0 ? kImport : kHandBack;
    if (!Open(client, name).ok()) return false;
    client.Add(Type::kForget, transfer::Forgetting{.name = name});
    const Result<transfer::Ack> ack = client.Sync();
    world_.Say(std::string("the operator forgets the ") + name + ": " +
               (ack.ok() ? "done" : ack.status().message()));
    if (!ack.ok()) return false;
  }
  return true;
}

}  // namespace gearstalk::simulation
