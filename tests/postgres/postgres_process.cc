#include "tests/postgres/postgres_process.h"

#include <fcntl.h>
#include <grp.h>
#include <libpq-fe.h>
#include <pwd.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <thread>

namespace gearstalk {
namespace {

// Debian's versions, newest first.
std::string Programs() {
  for (int version = 20; version >= 13; --version) {
    const std::string path = "/usr/lib/postgresql/" + std::to_string(version) + "/bin";
    if (access((path + "/initdb").c_str(), X_OK) == 0) return path;
  }
  return "";
}

// The server refuses to run as root.
const passwd* Owner() { return getuid() == 0 ? getpwnam("nobody") : nullptr; }

pid_t Spawn(std::vector<std::string> words) {
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  const pid_t pid = fork();
  if (pid != 0) return pid;
  if (const passwd* owner = Owner(); owner != nullptr) {
    const bool dropped =
        setgroups(0, nullptr) == 0 && setgid(owner->pw_gid) == 0 && setuid(owner->pw_uid) == 0;
    if (!dropped) _exit(126);
  }
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
  for (int fd = 0; fd < 3; ++fd) dup2(null, fd);
  execv(argv[0], argv.data());
  _exit(127);
}

}  // namespace

std::unique_ptr<PostgresProcess> PostgresProcess::Start() {
  const std::string programs = Programs();
  if (programs.empty()) return nullptr;
  std::unique_ptr<PostgresProcess> server(new PostgresProcess);
  std::string pattern = std::filesystem::temp_directory_path() / "gearstalk-postgres-XXXXXX";
  server->directory_ = mkdtemp(pattern.data());
  if (const passwd* owner = Owner(); owner != nullptr) {
    if (chown(server->directory_.c_str(), owner->pw_uid, owner->pw_gid) != 0) return nullptr;
  }
  const pid_t made = Spawn({programs + "/initdb", "-D", server->directory_ + "/data", "-U", "test",
                            "-A", "trust", "--no-sync", "-E", "UTF8", "--locale=C"});
  waitpid(made, nullptr, 0);
  server->Launch();
  return server;
}

void PostgresProcess::Launch() {
  pid_ = Spawn({Programs() + "/postgres", "-D", directory_ + "/data", "-k", directory_, "-c",
                "listen_addresses=", "-c", "fsync=off", "-c", "max_connections=40"});
  while (Run("select 1") != "1") std::this_thread::sleep_for(std::chrono::milliseconds(20));
}

std::string PostgresProcess::Run(const std::string& sql) const {
  PGconn* connection = PQconnectdb(conninfo().c_str());
  PGresult* result = PQexec(connection, sql.c_str());
  std::string first = PQntuples(result) > 0 ? PQgetvalue(result, 0, 0) : "";
  PQclear(result);
  PQfinish(connection);
  return first;
}

void PostgresProcess::Crash() {
  kill(pid_, SIGQUIT);
  waitpid(pid_, nullptr, 0);
  Launch();
}

PostgresProcess::~PostgresProcess() {
  if (pid_ > 0) {
    kill(pid_, SIGQUIT);
    waitpid(pid_, nullptr, 0);
  }
  std::error_code ignored;
  std::filesystem::remove_all(directory_, ignored);
}

}  // namespace gearstalk
