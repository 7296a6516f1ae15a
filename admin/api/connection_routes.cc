#include "admin/api/fields.h"
#include "admin/api/handlers.h"
#include "admin/api/lookup.h"
#include "admin/api/objects.h"
#include "admin/api/page.h"

namespace gearstalk::api {
namespace {

constexpr int kConnectionSlice = 128;  // connections looked at in a slice
constexpr int kConnectionsTold = 4;    // connections written to the page in a slice

struct ConnectionFilter {
  std::string role, protocol, tube, address;

  bool Matches(const ConnectionList::Entry& entry, const Engine& engine) const {
    const auto* const consumer = dynamic_cast<const Consumer*>(entry.session);
    if (!protocol.empty() && entry.protocol != protocol) return false;
    if (!address.empty() && entry.peer->address != address) return false;
    if (role == "producer" && (consumer == nullptr || !consumer->producer())) return false;
    if (role == "worker" && (consumer == nullptr || !consumer->worker())) return false;
    if (role == "waiting" && (consumer == nullptr || !consumer->waiting())) return false;
    if (tube.empty()) return true;
    const Tube* const wanted = engine.FindTube(tube);
    return wanted != nullptr && consumer != nullptr &&
           (consumer->used() == wanted || consumer->watched().Find(*wanted) != nullptr);
  }
};

// Walks connections by descriptor. New connections take the lowest free descriptors, so those that
// were accepted after the walk began are left out, and none comes twice.
class ConnectionPage final : public Task {
 public:
  ConnectionPage(const Services& services, ConnectionFilter filter, std::uint64_t limit,
                 std::string query, std::uint64_t from, std::uint64_t as_of)
      : services_(services),
        filter_(std::move(filter)),
        query_(std::move(query)),
        fd_(static_cast<int>(std::min<std::uint64_t>(from, INT32_MAX))),
        as_of_(as_of) {
    page_.limit = limit;
  }

  std::optional<Reply> Advance(Time now) override {
    int rendered = 0;
    for (int i = 0; i < kConnectionSlice && rendered < kConnectionsTold; ++i) {
      const ConnectionList::Entry entry = services_.connections.Next(fd_);
      if (entry.peer == nullptr) return Finish();
      if (page_.size == page_.limit) {
        page_.next = Cursor{{static_cast<std::uint64_t>(fd_), as_of_}, ""}.Encode(query_);
        return Finish();
      }
      fd_ = entry.peer->fd + 1;
      ++page_.scanned;
      if (entry.peer->id > as_of_ || !filter_.Matches(entry, services_.engine)) continue;
      page_.Add(ConnectionObject(entry, now));
      ++rendered;
    }
    return std::nullopt;
  }

 private:
  Reply Finish() const { return page_.Finish({{"total", services_.connections.Count()}}); }

  const Services& services_;
  const ConnectionFilter filter_;
  const std::string query_;
  int fd_;
  const std::uint64_t as_of_;
  Page page_;
};

// Finds one connection by its id, and acts on it.
class ConnectionSearch final : public Task {
 public:
  using Found = Reply (*)(const Services& services, const ConnectionList::Entry& entry, Time now);

  ConnectionSearch(const Services& services, std::uint64_t id, Found found)
      : services_(services), id_(id), found_(found) {}

  std::optional<Reply> Advance(Time now) override {
    for (int i = 0; i < kConnectionSlice; ++i) {
      const ConnectionList::Entry entry = services_.connections.Next(fd_);
      if (entry.peer == nullptr) return Reply(Problem{"not-found", "there is no such connection"});
      fd_ = entry.peer->fd + 1;
      if (entry.peer->id == id_) return found_(services_, entry, now);
    }
    return std::nullopt;
  }

 private:
  const Services& services_;
  const std::uint64_t id_;
  const Found found_;
  int fd_ = 0;
};

}  // namespace

Reply ListConnections(Call& call) {
  Fields fields = Fields::OfQuery(call.request.query);
  ConnectionFilter filter;
  filter.role = fields.Word("role", {"producer", "worker", "waiting"});
  filter.protocol = fields.Word("protocol", {"beanstalk", "gearman"});
  filter.tube = fields.Text("tube").value_or("");
  filter.address = fields.Text("address").value_or("");
  fields.Word("sort", {"id"});
  const auto limit = fields.IntegerOr("limit", 1, kMaxPage, kUsualPage);
  std::string query = QueryOf(call.request);
  const auto cursor = CursorOf(fields, query, 2);
  if (!fields.Finish()) return fields.problem();
  return Reply(std::make_unique<ConnectionPage>(
      call.services, std::move(filter), limit, std::move(query), cursor ? cursor->numbers[0] : 0,
      cursor ? cursor->numbers[1] : call.services.connections.Total()));
}

Reply GetConnection(Call& call) {
  return Reply(std::make_unique<ConnectionSearch>(
      call.services, NumberOf(call.arguments[0]),
      [](const Services&, const ConnectionList::Entry& entry, Time now) {
        return Reply::Of(ConnectionObject(entry, now));
      }));
}

Reply CloseConnection(Call& call) {
  return Reply(std::make_unique<ConnectionSearch>(
      call.services, NumberOf(call.arguments[0]),
      [](const Services& services, const ConnectionList::Entry& entry, Time) {
        services.host.CloseConnection(entry.peer->fd, entry.peer->id);
        return Reply::Empty();
      }));
}

}  // namespace gearstalk::api
