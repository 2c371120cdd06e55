#include "bench/measure/server.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <thread>

extern char** environ;

namespace bench {
namespace {

sockaddr_in at(const std::string& host, int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  if (inet_pton(AF_INET, host.c_str(), &address.sin_addr) != 1) throw std::runtime_error(host + " is not an address");
  return address;
}

int free_port() {
  const int probe = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = at("127.0.0.1", 0);
  socklen_t bytes = sizeof address;
  const bool bound = bind(probe, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0 &&
                     getsockname(probe, reinterpret_cast<sockaddr*>(&address), &bytes) == 0;
  close(probe);
  if (!bound) throw std::runtime_error("there is no free port");
  return ntohs(address.sin_port);
}

bool listens(const std::string& host, int port) {
  const int probe = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const sockaddr_in address = at(host, port);
  const bool answered = connect(probe, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  close(probe);
  return answered;
}

}  // namespace

Server::Server(const std::string& program, const std::vector<std::string>& arguments, const std::string& scratch, Place place)
    : folder_(scratch), place_(std::move(place)), port_(free_port()) {
  const std::string log = folder_.path() + "/log";
  std::filesystem::create_directory(folder_.path() + "/db");
  std::vector<std::string> words = place_.command;
  for (const std::string& word :
       {program, std::string("--dbpath"), folder_.path() + "/db", std::string("--port"), std::to_string(port_),
        std::string("--bind_ip"), place_.address, std::string("--noauth"), std::string("--nounixsocket")}) {
    words.push_back(word);
  }
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);

  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
  const int error = posix_spawn(&pid_, words.front().c_str(), &actions, nullptr, pointers.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) throw std::runtime_error(program + " cannot be started");
  at_interrupt_.emplace([pid = pid_] { ::kill(pid, SIGKILL); });

  for (int tries = 0; tries < 600; ++tries) {
    if (listens(place_.address, port_)) return;
    int status = 0;
    if (waitpid(pid_, &status, WNOHANG) == pid_) {
      pid_ = -1;
      break;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  stop();
  std::stringstream tail;
  tail << std::ifstream(log).rdbuf();
  throw std::runtime_error(program + " does not start:\n" + tail.str());
}

Server::~Server() {
  stop();
}

void Server::kill() {
  at_interrupt_.reset();
  if (pid_ <= 0) return;
  ::kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
  pid_ = -1;
}

void Server::stop() {
  at_interrupt_.reset();
  if (pid_ <= 0) return;
  ::kill(pid_, SIGTERM);
  int status = 0;
  for (int tries = 0; tries < 400; ++tries) {
    if (waitpid(pid_, &status, WNOHANG) == pid_) {
      pid_ = -1;
      return;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  kill();
}

double Server::cpu_seconds() const {
  clockid_t clock = 0;
  timespec time{};
  if (clock_getcpuclockid(pid_, &clock) != 0 || clock_gettime(clock, &time) != 0) return 0;
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

void Server::wait_until_idle() const {
  constexpr int quiet_seconds = 4;  // after two seconds without a client's write it tidies up, which is part of its work
  for (int tries = 0, quiet = 0; tries < 60 && quiet < quiet_seconds; ++tries) {
    const double before = cpu_seconds();
    std::this_thread::sleep_for(std::chrono::seconds(1));
    quiet = cpu_seconds() - before < 0.02 ? quiet + 1 : 0;
  }
}

double Server::thread_cpu_seconds(const std::string& name) const {
  double seconds = 0;
  std::error_code gone;
  for (const auto& thread : std::filesystem::directory_iterator("/proc/" + std::to_string(pid_) + "/task", gone)) {
    std::string named;
    std::getline(std::ifstream(thread.path() / "comm"), named);
    if (named != name) continue;
    double run_ns = 0;
    std::ifstream(thread.path() / "schedstat") >> run_ns;
    seconds += run_ns * 1e-9;
  }
  return seconds;
}

}  // namespace bench
