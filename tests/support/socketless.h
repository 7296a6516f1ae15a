#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "broker/base/check.h"
#include "broker/base/clock.h"
#include "broker/server/protocol.h"

namespace gearstalk {

// The server's side of a connection without a socket: shows what arrives to a session as the
// server's connections do, and keeps what is answered. What a session said kWait for is run by Run.
class Socketless : public Wire {
 public:
  using Scope = Session::Scope;

  // `clock` outlives it.
  Socketless(const Clock& clock, Peer peer) : clock_(clock), peer_(std::move(peer)) {}
  virtual ~Socketless() = default;
  Socketless(const Socketless&) = delete;
  Socketless& operator=(const Socketless&) = delete;

  void set_session(std::unique_ptr<Session> session) { session_ = std::move(session); }
  // The connection ends.
  void DropSession() {
    closed_ = true;
    waits_ = resumed_ = false;
    session_.reset();
    input_.clear();
  }
  Session* session() const { return session_.get(); }
  void set_access(std::shared_ptr<const Access> access) { peer_.access = std::move(access); }

  // Bytes arrive: straight in a body while the session offers its space and nothing else waits.
  void Receive(std::string_view bytes, Scope scope = Scope::kAll) {
    while (!closed_ && !bytes.empty() && input_.empty()) {
      const std::span<char> space = session_->BodySpace();
      if (space.empty()) break;
      const std::size_t size = std::min(space.size(), bytes.size());
      std::copy_n(bytes.begin(), size, space.begin());
      bytes.remove_prefix(size);
      ++direct_reads_;
      direct_bytes_ += size;
      session_->OnBody(size);
      Run(scope);
    }
    if (closed_) return;
    input_ += bytes;
    if (!waits_) Run(scope);
  }
  // The peer closes its side; what still waits is run.
  void ReceiveEof() {
    if (closed_) return;
    eof_ = true;
    waits_ = false;
    session_->OnEof();
    Run();
  }

  // Until the session needs more bytes, waits for the engine, or ends.
  void Run(Scope scope = Scope::kAll) {
    while (!closed_) {
      resumed_ = false;
      switch (Step({}, scope)) {
        case Next::kYield:
          ++yields_;
          continue;
        case Next::kForeign:
          if (OnForeign()) continue;
          return;
        case Next::kWait:
          if (resumed_) continue;
          waits_ = true;
          return;
        case Next::kClose:
          closed_ = true;
          return;
        case Next::kBytes:
          closed_ = eof_;
          return;
        case Next::kGoOn:
          GS_CHECK(false);
      }
    }
  }
  // One call of OnInput, with what was not used yet before `bytes`.
  Next Step(std::string_view bytes, Scope scope = Scope::kAll) {
    input_ += bytes;
    const InputResult result = session_->OnInput(input_, scope);
    GS_CHECK(result.bytes <= input_.size());
    input_.erase(0, result.bytes);
    return next_ = result.next;
  }

  // It waited, and has something to run now.
  bool resumed() const { return resumed_; }
  bool closed() const { return closed_; }
  // What the last call of OnInput came to.
  Next next() const { return next_; }
  // How often the session let others go first.
  int yields() const { return yields_; }
  // Bytes that arrived and were not used yet.
  std::size_t unused() const { return input_.size(); }
  // What went straight into bodies.
  int direct_reads() const { return direct_reads_; }
  std::size_t direct_bytes() const { return direct_bytes_; }
  // How often it was refused something.
  std::uint64_t refused(Refusal why = Refusal::kRights) const { return refused_.of(why); }

  // The tube that the last refusal named.
  const std::string& refused_tube() const { return refused_tube_; }

  // --- Wire
  Output& out() override { return out_; }
  const Peer& peer() const override { return peer_; }
  Time Now() const override { return clock_.Now(); }
  void Resume() override {
    waits_ = false;
    resumed_ = true;
  }
  void OnRefused(Refusal why, const Refused& what) override {
    refused_.Count(why);
    refused_tube_ = what.tube;
  }
  void OnJobRefused(Code /*why*/, std::string_view tube) override { refused_tube_ = tube; }

 protected:
  // The next message is none of the session's. Whether it was answered in another way.
  virtual bool OnForeign() { return false; }
  std::string& input() { return input_; }

 private:
  const Clock& clock_;
  Peer peer_;
  Output out_;
  RefusalCounts refused_;
  std::string refused_tube_;
  std::string input_;
  Next next_ = Next::kBytes;
  bool waits_ = false;
  bool resumed_ = false;
  bool eof_ = false;
  bool closed_ = false;
  int yields_ = 0;
  int direct_reads_ = 0;
  std::size_t direct_bytes_ = 0;
  std::unique_ptr<Session> session_;
};

}  // namespace gearstalk
