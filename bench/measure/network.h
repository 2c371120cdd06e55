// A network is hosts on this machine, each in a network namespace of its own, joined by lines of a bandwidth or a
// delay.
//
//   bandwidth   veth pairs on a bridge; `tc` (tbf) shapes what each host sends
//   delay       TUN devices; this process passes packets on when they are due
//               (Linux's netem isn't in every kernel)
//
// This process is the first host. The namespaces have no names: they are gone
// with the last process in them, however that ends.
#pragma once

#include <sys/types.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace bench {

class DelayedLines;

class Network {
 public:
  enum class Lines { shaped, delayed };

  // Moves the calling thread, and with it the threads and processes it starts from now on, into a namespace of their own for
  // good. Throws std::runtime_error where this isn't root, or `ip` or `tc` (Debian's iproute2) fails.
  Network(size_t hosts, Lines lines);
  ~Network();
  Network(const Network&) = delete;

  std::string address(size_t host) const;
  // Returns what stands before a command that is to run on that host; empty for the first.
  std::vector<std::string> on(size_t host) const;

  // Limits what every host may send from now on, in Mbit/s; nullopt: as fast as it goes. For shaped lines.
  void limit(std::optional<double> mbit);
  // Sets how long each packet takes from one host to another from now on; the round trip is twice that. For delayed lines.
  void delay(double ms);
  // Returns the bytes that the host has sent to others so far, with the headers of Ethernet (shaped) or IP (delayed).
  uint64_t sent_bytes(size_t host) const;

 private:
  void make_host();
  std::string inside(size_t host, const std::string& command) const;

  Lines lines_;
  std::vector<pid_t> hosts_;  // the process that holds the namespace; 0: this one
  std::unique_ptr<DelayedLines> delayed_;
};

}  // namespace bench
