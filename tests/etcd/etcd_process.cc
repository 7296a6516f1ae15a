#include "tests/etcd/etcd_process.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

namespace gearstalk {
namespace {

// The environment may name another one.
std::string Program() {
  const char* const path = std::getenv("ETCD");
  return path == nullptr ? "/usr/bin/etcd" : path;
}

}  // namespace

std::string FreeAddress() {
  // Stays open, as in tests/support/launched.py: nobody else is given its port.
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int on = 1;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  bind(fd, reinterpret_cast<sockaddr*>(&address), size);
  getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size);
  return "127.0.0.1:" + std::to_string(ntohs(address.sin_port));
}

std::unique_ptr<EtcdProcess> EtcdProcess::Start(const std::vector<std::string>& more) {
  const std::string program = Program();
  if (access(program.c_str(), X_OK) != 0) return nullptr;
  std::unique_ptr<EtcdProcess> etcd(new EtcdProcess);
  std::string pattern = std::filesystem::temp_directory_path() / "gearstalk-etcd-XXXXXX";
  etcd->directory_ = mkdtemp(pattern.data());
  etcd->endpoint_ = FreeAddress();
  const std::string client = "http://" + etcd->endpoint_;
  const std::string peer = "http://" + FreeAddress();
  std::vector<std::string> words = {program,
                                    "--name=n0",
                                    "--data-dir=" + etcd->directory_ + "/data",
                                    "--listen-client-urls=" + client,
                                    "--advertise-client-urls=" + client,
                                    "--listen-peer-urls=" + peer,
                                    "--initial-advertise-peer-urls=" + peer,
                                    "--initial-cluster=n0=" + peer,
                                    "--log-level=error"};
  words.insert(words.end(), more.begin(), more.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  etcd->pid_ = fork();
  if (etcd->pid_ == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    const int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
    dup2(null, 1);
    dup2(null, 2);
    execv(program.c_str(), argv.data());
    _exit(127);
  }
  return etcd;
}

void EtcdProcess::Signal(int signal) const { kill(pid_, signal); }

EtcdProcess::~EtcdProcess() {
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
  std::error_code ignored;
  std::filesystem::remove_all(directory_, ignored);
}

}  // namespace gearstalk
