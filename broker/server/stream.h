#pragma once

#include <boost/intrusive/list.hpp>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "broker/link/frame.h"
#include "broker/link/payloads.h"
#include "broker/server/event_loop.h"
#include "broker/server/held_input.h"
#include "broker/server/transport.h"

namespace gearstalk {

class RouterLink;
class DueStreams;

// A client whose socket a router holds.
//
// Its life: the router's OPEN makes it, DATA and END feed it, RESET or the end of the link breaks
// it. The broker ends it with CLOSE, when its owner destroys it; its number is free when the router
// has answered with CLOSE. Windows: the router may send `credit_` more bytes, and gets more as they
// are read; the broker may send `window_` more, and gets more as the router delivers them.
class Stream final : public Transport {
 public:
  Stream(DueStreams& due, RouterLink& link, std::uint32_t number, TransportEvents& events);
  ~Stream() override;
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  // --- Transport
  Received Read(std::span<char> body, std::span<char> buffer, std::size_t most) override;
  Failure failure() const override { return {refusal_, reason_}; }
  ssize_t Write(iovec* pieces, int count) override;
  // After `last`, CLOSE says that the output is whole. kSome: the router has not delivered all yet.
  Flushed Flush(bool last) override {
    ends_well_ = ends_well_ || last;
    return last && pending() > 0 ? Flushed::kSome : Flushed::kAll;
  }
  std::size_t pending() const override;
  void End() override { ends_well_ = true; }
  void SetReading(Reading reading) override;
  void Mute(bool muted) override;
  void WatchWriting(bool watched) override;

  // --- For the link
  // False: more than there was credit for.
  bool OnData(std::string_view bytes);
  void OnSecured(std::string_view certificate);
  void OnHangUp();
  void OnEnd();
  void OnReset(const link::Reset& reset);
  // False: more was delivered than was sent, or the window is larger than one may be.
  bool OnCredit(const link::Credit& credit);
  // The link is gone.
  void OnLost();
  // Tells its owner what there is to be told now.
  void Tell();
  // Tells it in the next round, or when the link is less busy. False: there is nothing to tell yet.
  bool TellLater();

  using Hook = boost::intrusive::list_member_hook<
      boost::intrusive::link_mode<boost::intrusive::auto_unlink>>;
  Hook due_hook, blocked_hook;

 private:
  bool Readable() const { return !fresh_.empty() || !held_.empty() || ended_ || broken_; }
  bool CanWrite() const;
  // Whether others are to be sent first.
  bool Blocked() const;
  bool HasNews() const;
  std::size_t Take(std::span<char> space);
  void GiveCredit(std::size_t body_left);

  DueStreams& due_;
  RouterLink* link_;  // nullptr: it is gone
  const std::uint32_t number_;
  TransportEvents& events_;
  std::string_view fresh_;  // what just arrived, in the link's memory
  HeldInput held_;          // what arrived before
  std::int64_t credit_ = link::kWindow;
  std::size_t window_ = link::kWindow;
  std::size_t under_way_ = 0;  // sent, and not reported as delivered
  std::optional<Refusal> refusal_;
  std::string reason_;
  bool flows_ = false;  // much arrives at once
  bool muted_ = false;
  bool writing_ = false;  // WatchWriting
  bool hung_up_ = false;
  bool told_hang_up_ = false;
  bool ended_ = false;
  bool broken_ = false;
  bool failed_ = false;  // broken, and the owner is to say why
  bool ends_well_ = false;
};

template <Stream::Hook Stream::*hook>
using StreamList =
    boost::intrusive::list<Stream, boost::intrusive::member_hook<Stream, Stream::Hook, hook>,
                           boost::intrusive::constant_time_size<false>>;

// Streams that have something to tell their owners in the next round.
class DueStreams {
 public:
  // `begin` is called before any of them is.
  DueStreams(EventLoop& loop, std::function<void()> begin);
  void Add(Stream& stream);

 private:
  void Tell();

  const std::function<void()> begin_;
  Event soon_;
  StreamList<&Stream::due_hook> streams_;
};

}  // namespace gearstalk
