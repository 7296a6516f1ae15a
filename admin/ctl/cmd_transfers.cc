// transfers: what the journal knows of transfers.

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "admin/ctl/command.h"
#include "admin/ctl/move_commands.h"
#include "admin/move/transfer_client.h"
#include "broker/base/status.h"

namespace gearstalk::ctl {
namespace {

struct Options {
  Target target;
  std::string forget, held;

  Parameters AsParameters() {
    Parameters parameters;
    target.AddTo(parameters, "--to");
    parameters.insert(parameters.end(), {{"--forget", &forget, "Forget a transfer by its name"},
                                         {"--held", &held, "What becomes of its held jobs",
                                          OneOf({"commit", "drop"})}});
    return parameters;
  }
};

Status PrintMark(const transfer::Frame& frame) {
  transfer::MarkOf of;
  transfer::Mark mark;
  if (!ReadFields(frame.fields, of) || !transfer::Mark::Decode(of.mark, mark)) {
    return {Code::kIo, "a mark that cannot be read"};
  }
  // Only an import has a place in its source.
  const std::uint64_t settled = std::max(mark.settled, mark.moved);
  fmt::print(
      "{}: {}, {}, {} ids, {} settled, {} joined, {} refused, {} altered, {} uncertain, {} held\n",
      Visible(of.name), Visible(mark.kind), mark.finished ? "finished" : "unfinished",
      mark.keep_ids ? "old" : "new", settled, mark.joined, mark.refused, mark.altered,
      mark.uncertain, of.held);
  return {};
}

Status ListOrForget(Options& options) {
  if (!options.held.empty() && options.forget.empty()) {
    return {Code::kInvalid, "--held goes with --forget"};
  }
  GS_TRY(options.target.CheckDirectory());
  const Access access = options.forget.empty() ? Access::kReadMarks : Access::kChange;
  std::unique_ptr<TransferClient> client = GS_TRY(TransferClient::Connect(options.target, access));
  if (options.forget.empty()) {
    GS_TRY(client->Ask(transfer::Type::kTransfers, transfer::End{}, PrintMark));
    return client->Close();
  }
  transfer::Forgetting forgetting{.name = options.forget};
  if (options.held == "commit") forgetting.held = transfer::Held::kCommit;
  if (options.held == "drop") forgetting.held = transfer::Held::kDrop;
  client->Add(transfer::Type::kForget, forgetting);
  GS_TRY(client->Sync());
  fmt::print("forgotten: {}\n", Visible(options.forget));
  return client->Close();
}

}  // namespace

Command TransfersCommand() {
  return {"transfers", "List transfers, or forget one", "gearstalkctl transfers",
          BindMove(ListOrForget)};
}

}  // namespace gearstalk::ctl
