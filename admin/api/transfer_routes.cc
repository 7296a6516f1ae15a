#include "admin/api/fields.h"
#include "admin/api/handlers.h"
#include "admin/api/names.h"
#include "admin/api/page.h"

namespace gearstalk::api {
namespace {

constexpr int kHeldSlice = 64;     // held jobs looked at in a slice
constexpr int kTransfersTold = 8;  // transfers written to the page in a slice

Json TransferObject(const std::string& name, const transfer::Mark& mark, std::uint64_t held) {
  return {{"name", TextOf(name)},        {"ref", RefOf(name)},
          {"kind", TextOf(mark.kind)},   {"ids", mark.keep_ids ? "keep" : "new"},
          {"finished", mark.finished},   {"settled", mark.settled},
          {"moved", mark.moved},         {"joined", mark.joined},
          {"refused", mark.refused},     {"altered", mark.altered},
          {"uncertain", mark.uncertain}, {"held", held}};
}

class TransferList final : public Task {
 public:
  TransferList(const Transfers& transfers, std::uint64_t limit, std::string query,
               std::string after)
      : transfers_(transfers), query_(std::move(query)), name_(std::move(after)) {
    page_.limit = limit;
  }

  std::optional<Reply> Advance(Time) override {
    for (int told = 0; told < kTransfersTold; ++told) {
      std::string name = name_;
      const transfer::Mark* const mark = transfers_.NextMark(name);
      if (mark == nullptr) return page_.Finish();
      if (page_.size == page_.limit) {
        page_.next = Cursor{{}, name_}.Encode(query_);
        return page_.Finish();
      }
      name_ = std::move(name);
      ++page_.scanned;
      page_.Add(TransferObject(name_, *mark, transfers_.HeldOf(name_)));
    }
    return std::nullopt;
  }

 private:
  const Transfers& transfers_;
  const std::string query_;
  std::string name_;
  Page page_;
};

// Forgets the held jobs first, then the mark, so that after a crash in between it can be repeated.
class Forgetting final : public Task {
 public:
  Forgetting(const Services& services, std::string name, bool commit)
      : services_(services), name_(std::move(name)), commit_(commit) {}
  ~Forgetting() override { services_.host.GiveTransfer(name_); }

  std::optional<Reply> Advance(Time now) override {
    Transfers& transfers = services_.engine.transfers();
    for (int i = 0; i < kHeldSlice; ++i) {
      const Transfers::Held* const held = transfers.NextHeld(last_);
      if (held == nullptr) return Finish(transfers.Forget(name_));
      last_ = held->record.values().id;
      if (held->transfer != name_) continue;
      const Transfers::Change change =
          commit_ ? transfers.Commit(now, name_, last_) : transfers.Drop(name_, last_);
      if (!change.ok()) return Finish(change);
      ++ended_;
      lsn_ = std::max(lsn_, change.lsn);
    }
    return std::nullopt;
  }
  std::optional<std::uint64_t> count() const override { return ended_; }

 private:
  Reply Finish(const Transfers::Change& change) const {
    if (!change.ok()) return RefusalOf(change.code, name_);
    return Reply::Empty().Durable(std::max(lsn_, change.lsn));
  }

  const Services& services_;
  const std::string name_;
  const bool commit_;
  JobId last_ = 0;
  std::uint64_t ended_ = 0;  // held jobs
  Lsn lsn_ = 0;
};

}  // namespace

Reply ListTransfers(Call& call) {
  Fields fields = Fields::OfQuery(call.request.query);
  const auto limit = fields.IntegerOr("limit", 1, kMaxPage, kUsualPage);
  std::string query = QueryOf(call.request);
  const auto cursor = CursorOf(fields, query, 0);
  if (!fields.Finish()) return fields.problem();
  return Reply(std::make_unique<TransferList>(call.engine().transfers(), limit, std::move(query),
                                              cursor ? cursor->text : ""));
}

Reply ForgetTransfer(Call& call) {
  Fields fields = Fields::OfQuery(call.request.query);
  const std::string held = fields.Word("held", {"commit", "drop"});
  if (!fields.Finish()) return fields.problem();
  const std::string name = NameOfRef(call.arguments[0]).value_or("");
  call.act.filter = Dump({{"transfer", TextOf(name)}});
  const Transfers& transfers = call.engine().transfers();
  if (transfers.Find(name) == nullptr) return Problem{"not-found", "there is no such transfer"};
  if (held.empty() && transfers.HeldOf(name) > 0) {
    return Problem{"in-use", "it holds jobs: say held=commit or held=drop"};
  }
  if (!call.services.host.TakeTransfer(name)) {
    return Problem{"in-use", "a connection works on the transfer"};
  }
  return Reply(std::make_unique<Forgetting>(call.services, name, held == "commit"));
}

}  // namespace gearstalk::api
