#include "bench/measure/delayed_lines.h"

#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstring>
#include <stdexcept>

namespace bench {
namespace {

constexpr size_t packet_max = 65536;
constexpr int poll_ms = 50;  // so late the end is noticed at most

// Returns -1 when there is none to be had.
int make_device(pid_t host) {
  if (host != 0) {
    const int space = open(("/proc/" + std::to_string(host) + "/ns/net").c_str(), O_RDONLY | O_CLOEXEC);
    const bool entered = space >= 0 && setns(space, CLONE_NEWNET) == 0;  // this thread alone
    if (space >= 0) close(space);
    if (!entered) return -1;
  }
  const int tun = open("/dev/net/tun", O_RDWR | O_CLOEXEC | O_NONBLOCK);
  if (tun < 0) return -1;
  ifreq request{};
  request.ifr_flags = IFF_TUN | IFF_NO_PI;
  std::strncpy(request.ifr_name, DelayedLines::device, IFNAMSIZ - 1);
  if (ioctl(tun, TUNSETIFF, &request) == 0) return tun;
  close(tun);
  return -1;
}

}  // namespace

DelayedLines::DelayedLines(const std::vector<pid_t>& hosts) {
  for (const pid_t host : hosts) {
    int made = -1;
    std::thread([&] { made = make_device(host); }).join();
    if (made < 0) throw std::runtime_error("this machine has no TUN devices (/dev/net/tun), which delayed lines are made of");
    devices_.push_back(made);
  }
  for (size_t i = 0; i < devices_.size(); ++i) threads_.emplace_back([this, i] { take(static_cast<int>(i)); });
  threads_.emplace_back([this] { deliver(); });
}

DelayedLines::~DelayedLines() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
  for (const int each : devices_) close(each);
}

void DelayedLines::take(int from) {
  constexpr size_t ip_header_bytes = 20, destination_end = 19;
  std::string buffer(packet_max, '\0');
  while (!stopping_) {
    pollfd waiting{devices_[static_cast<size_t>(from)], POLLIN, 0};
    if (poll(&waiting, 1, poll_ms) <= 0) continue;
    const ssize_t bytes = read(waiting.fd, buffer.data(), buffer.size());
    if (bytes < static_cast<ssize_t>(ip_header_bytes) || (static_cast<uint8_t>(buffer[0]) >> 4) != 4) continue;
    const size_t to = static_cast<uint8_t>(buffer[destination_end]) - size_t{1};
    if (to >= devices_.size()) continue;
    const std::lock_guard lock(mutex_);
    packets_.push_back(
        {Clock::now() + std::chrono::microseconds(delay_us_), devices_[to], buffer.substr(0, static_cast<size_t>(bytes))});
    if (packets_.size() == 1) changed_.notify_all();
  }
}

void DelayedLines::deliver() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    if (packets_.empty()) {
      changed_.wait(lock);
      continue;
    }
    if (Clock::now() < packets_.front().due) {
      const auto due = packets_.front().due;
      lock.unlock();
      std::this_thread::sleep_until(due);
      lock.lock();
      continue;
    }
    const Packet packet = std::move(packets_.front());
    packets_.pop_front();
    lock.unlock();
    // A packet that the device doesn't take is lost, as on any line.
    if (write(packet.to, packet.bytes.data(), packet.bytes.size()) < 0 && errno == EBADF) return;
    lock.lock();
  }
}

}  // namespace bench
