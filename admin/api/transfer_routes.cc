#include "admin/api/answers.h"
#include "admin/api/json.h"
#include "admin/api/objects.h"
#include "admin/api/page.h"
#include "admin/api/routes.h"

namespace gearstalk::api {
namespace {

constexpr std::size_t kHeldSlice = 64;     // held jobs looked at in a slice
constexpr std::size_t kTransfersTold = 8;  // transfers written to the page in a slice

Task TransferPage(const Transfers& transfers, Page page) {
  std::string last = page.after ? page.after->text : "";
  for (std::string name = last; const transfer::Mark* const mark = transfers.NextMark(name);) {
    if (page.full()) {
      page.GoOn({{}, last});
      break;
    }
    page.Add(TransferObject(name, *mark, transfers.HeldOf(name)));
    last = name;
    if (++page.scanned % kTransfersTold == 0) co_await NextSlice();
  }
  co_return page.Finish();
}

// Forgets the held jobs first, then the mark, so that after a crash in between it can be repeated.
Task Forget(const Services& services, std::string name, bool commit) {
  if (!services.host.TakeTransfer(name)) {
    co_return Problem{"in-use", "a connection works on the transfer"};
  }
  struct Use {
    Host& host;
    const std::string& name;
    Lsn changed = 0;
    ~Use() { host.GiveTransfer(name, changed); }
  } use{services.host, name};
  Transfers& transfers = services.engine.transfers();
  JobId last = 0;
  std::uint64_t ended = 0;  // held jobs
  co_yield ended;
  for (std::size_t looked = 1;; ++looked) {
    const Transfers::Held* const held = transfers.NextHeld(last);
    if (held == nullptr) break;
    last = held->record.View().id;
    if (held->transfer == name) {
      const auto end = [&](ComparisonPtr& compared) {
        return commit ? transfers.Commit(services.Now(), name, last, &compared)
                      : transfers.Drop(name, last);
      };
      ComparisonPtr compared;
      Transfers::Change change = end(compared);
      while (Waits(compared)) {
        co_await NextSlice();
        if (!Waits(compared)) change = end(compared);
      }
      if (!change.ok()) co_return RefusalOf(change.code, name);
      use.changed = std::max(use.changed, change.lsn);
      co_yield ++ended;
    }
    if (looked % kHeldSlice == 0) co_await NextSlice();
  }
  const Transfers::Change change = transfers.Forget(name);
  if (!change.ok()) co_return RefusalOf(change.code, name);
  use.changed = std::max(use.changed, change.lsn);
  co_return Reply::Empty().Durable(use.changed);
}

}  // namespace

Reply ListTransfers(Call& call) {
  Page page = Page::Of(call, 0);
  if (!call.fields.Finish()) return call.fields.problem();
  return TransferPage(call.engine().transfers(), std::move(page));
}

Reply ForgetTransfer(Call& call) {
  const std::string held = call.fields.Word("held", {"commit", "drop"});
  if (!call.fields.Finish()) return call.fields.problem();
  const std::string name = NameOfRef(call.arguments[0]).value_or("");
  call.act.filter = Dump({{"transfer", TextOf(name)}});
  const Transfers& transfers = call.engine().transfers();
  if (transfers.Find(name) == nullptr) return NoSuch("transfer");
  if (held.empty() && transfers.HeldOf(name) > 0) {
    return Problem{"in-use", "it holds jobs: say held=commit or held=drop"};
  }
  return Forget(call.services, name, held == "commit");
}

}  // namespace gearstalk::api
