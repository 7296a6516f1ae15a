#include "admin/api/answers.h"
#include "admin/api/objects.h"
#include "admin/api/page.h"
#include "admin/api/routes.h"

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
    if (role == "idle" && (consumer == nullptr || !consumer->idle())) return false;
    if (tube.empty()) return true;
    const Tube* const wanted = engine.FindTube(tube);
    return wanted != nullptr && consumer != nullptr &&
           (consumer->used() == wanted || consumer->watched().Find(*wanted) != nullptr);
  }
};

// Walks connections by descriptor. New connections take the lowest free descriptors, so those that
// were accepted after the walk began are left out, and none comes twice.
Task ConnectionPage(const Services& services, ConnectionFilter filter, Page page) {
  const ConnectionList& connections = services.connections;
  const std::uint64_t from = page.after ? page.after->numbers[0] : 0;
  const std::uint64_t as_of = page.after ? page.after->numbers[1] : connections.Total();
  int fd = static_cast<int>(std::min<std::uint64_t>(from, INT32_MAX));
  for (int looked = 0, told = 0;;) {
    const ConnectionList::Entry entry = connections.Next(fd);
    if (entry.peer == nullptr) break;
    if (page.full()) {
      page.GoOn({{static_cast<std::uint64_t>(fd), as_of}, ""});
      break;
    }
    fd = entry.peer->fd + 1;
    ++page.scanned;
    if (entry.peer->id <= as_of && filter.Matches(entry, services.engine)) {
      page.Add(ConnectionObject(entry, services.Now()));
      ++told;
    }
    if (++looked < kConnectionSlice && told < kConnectionsTold) continue;
    co_await NextSlice();
    looked = told = 0;
  }
  co_return page.Finish({{"total", connections.Count()}});
}

// Finds one connection by its id, and acts on it.
Task FindConnection(const Services& services, std::uint64_t id,
                    Reply (*act)(const Services&, const ConnectionList::Entry&)) {
  int fd = 0;
  for (int looked = 1;; ++looked) {
    const ConnectionList::Entry entry = services.connections.Next(fd);
    if (entry.peer == nullptr) co_return NoSuch("connection");
    if (entry.peer->id == id) co_return act(services, entry);
    fd = entry.peer->fd + 1;
    if (looked % kConnectionSlice == 0) co_await NextSlice();
  }
}

}  // namespace

Reply ListConnections(Call& call) {
  ConnectionFilter filter;
  filter.role = call.fields.Word("role", {"producer", "worker", "waiting", "idle"});
  filter.protocol = call.fields.Word("protocol", {"beanstalk", "gearman"});
  filter.tube = call.fields.Text("tube").value_or("");
  filter.address = call.fields.Text("address").value_or("");
  call.fields.Word("sort", {"id"});
  Page page = Page::Of(call, 2);
  if (!call.fields.Finish()) return call.fields.problem();
  return ConnectionPage(call.services, std::move(filter), std::move(page));
}

Reply GetConnection(Call& call) {
  return FindConnection(call.services, NumberOf(call.arguments[0]),
                        [](const Services& services, const ConnectionList::Entry& entry) {
                          return Reply::Of(ConnectionObject(entry, services.Now()));
                        });
}

Reply CloseConnection(Call& call) {
  return FindConnection(call.services, NumberOf(call.arguments[0]),
                        [](const Services& services, const ConnectionList::Entry& entry) {
                          services.host.CloseConnection(entry.peer->fd, entry.peer->id);
                          return Reply::Empty();
                        });
}

}  // namespace gearstalk::api
