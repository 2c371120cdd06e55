#include "bench/measure/network.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include "bench/measure/delayed_lines.h"

namespace bench {
namespace {

void shell(const std::string& command) {
  if (std::system(command.c_str()) != 0)
    throw std::runtime_error("this command failed: " + command);  // NOLINT: nothing in it comes from a user
}

}  // namespace

Network::Network(size_t hosts, Lines lines) : lines_(lines), hosts_{0} {
  if (geteuid() != 0) throw std::runtime_error("network namespaces need root");
  if (unshare(CLONE_NEWNET) != 0) throw std::runtime_error("this machine lets nobody make network namespaces");
  while (hosts_.size() < hosts) make_host();
  for (size_t host = 0; host < hosts; ++host) shell(inside(host, "ip link set lo up"));
  if (lines_ == Lines::delayed) {
    delayed_ = std::make_unique<DelayedLines>(hosts_);
    for (size_t host = 0; host < hosts; ++host) {
      shell(inside(host, fmt::format("ip addr add {}/24 dev {}", address(host), DelayedLines::device)));
      shell(inside(host, fmt::format("ip link set {} up", DelayedLines::device)));
    }
    return;
  }
  shell("ip link add lines type bridge");
  shell(fmt::format("ip addr add {}/24 dev lines", address(0)));
  shell("ip link set lines up");
  for (size_t host = 1; host < hosts; ++host) {
    shell(fmt::format("ip link add to{} type veth peer name lines netns {}", host, hosts_[host]));
    shell(fmt::format("ip link set to{} master lines up", host));
    shell(inside(host, fmt::format("ip addr add {}/24 dev lines", address(host))));
    shell(inside(host, "ip link set lines up"));
  }
}

Network::~Network() {
  delayed_.reset();
  for (const pid_t holder : hosts_) {
    if (holder == 0) continue;
    kill(holder, SIGKILL);
    waitpid(holder, nullptr, 0);
  }
}

void Network::make_host() {
  int ready[2];
  if (pipe2(ready, O_CLOEXEC) != 0) throw std::runtime_error("cannot make a pipe");
  const pid_t holder = fork();
  if (holder == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    const char outcome = unshare(CLONE_NEWNET) == 0 ? 'y' : 'n';
    if (write(ready[1], &outcome, 1) != 1) _exit(1);
    for (;;) pause();
  }
  close(ready[1]);
  char outcome = 'n';
  const bool made = holder > 0 && read(ready[0], &outcome, 1) == 1 && outcome == 'y';
  close(ready[0]);
  if (holder > 0) hosts_.push_back(holder);
  if (!made) throw std::runtime_error("cannot make a network namespace");
}

std::string Network::address(size_t host) const {
  return fmt::format("10.213.0.{}", host + 1);
}

std::vector<std::string> Network::on(size_t host) const {
  if (hosts_[host] == 0) return {};
  return {"/usr/bin/nsenter", "-n", "-t", std::to_string(hosts_[host])};
}

std::string Network::inside(size_t host, const std::string& command) const {
  std::string words;
  for (const std::string& word : on(host)) words += word + " ";
  return words + command;
}

void Network::limit(std::optional<double> mbit) {
  if (lines_ != Lines::shaped) throw std::logic_error("these lines are not shaped");
  for (size_t host = 0; host < hosts_.size(); ++host) {
    shell(inside(host, "tc qdisc del dev lines root 2> /dev/null || true"));
    if (mbit)
      shell(inside(host, fmt::format("tc qdisc add dev lines root tbf rate {}kbit burst 64kb latency 200ms",
                                     static_cast<int64_t>(*mbit * 1000))));
  }
}

void Network::delay(double ms) {
  if (lines_ != Lines::delayed) throw std::logic_error("these lines are not delayed");
  delayed_->set(ms);
}

uint64_t Network::sent_bytes(size_t host) const {
  const char* device = lines_ == Lines::delayed ? DelayedLines::device : "lines";
  std::ifstream file(hosts_[host] == 0 ? "/proc/self/net/dev" : fmt::format("/proc/{}/net/dev", hosts_[host]));
  for (std::string line; std::getline(file, line);) {
    const size_t colon = line.find(':');
    if (colon == std::string::npos || line.substr(line.find_first_not_of(' '), colon - line.find_first_not_of(' ')) != device)
      continue;
    std::istringstream fields(line.substr(colon + 1));
    uint64_t value = 0;
    for (int i = 0; i < 9; ++i) fields >> value;  // eight fields of receiving come first
    return value;
  }
  throw std::runtime_error("there are no counters of the bytes between hosts");
}

}  // namespace bench
