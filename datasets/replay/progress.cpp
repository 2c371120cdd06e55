#include "datasets/replay/progress.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace datasets::replay {

std::string grouped(uint64_t number) {
  std::string text = std::to_string(number);
  for (size_t at = text.size(); at > 3;) text.insert(at -= 3, 1, ',');
  return text;
}

std::string bytes_text(double bytes) {
  static constexpr const char* units[] = {"B", "KB", "MB", "GB", "TB"};
  size_t unit = 0;
  while (bytes >= 1000 && unit + 1 < std::size(units)) bytes /= 1000, ++unit;
  return unit == 0 ? fmt::format("{:.0f} B", bytes)
                   : fmt::format("{:.{}f} {}", bytes,
                                 bytes < 10    ? 2
                                 : bytes < 100 ? 1
                                               : 0,
                                 units[unit]);
}

std::string duration_text(double seconds) {
  if (seconds < 60) return fmt::format("{:.{}f} s", seconds, seconds < 10 ? 2 : 1);
  const auto whole = static_cast<int64_t>(std::llround(seconds));
  if (whole >= 3600) return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
  return fmt::format("{}:{:02}", whole / 60, whole % 60);
}

Progress::Progress(bool quiet)
    : quiet_(quiet),
      terminal_(::isatty(STDERR_FILENO) == 1),
      next_(begun_ + (terminal_ ? std::chrono::milliseconds(300) : std::chrono::milliseconds(5000))) {}

void Progress::clear() {
  if (shown_) std::fputs("\r\x1b[K", stderr);
  shown_ = false;
}

void Progress::show(uint64_t documents, uint64_t bytes, double fraction) {
  const auto now = Clock::now();
  if (quiet_ || now < next_) return;
  next_ = now + (terminal_ ? std::chrono::milliseconds(200) : std::chrono::milliseconds(5000));
  const double seconds = std::chrono::duration<double>(now - begun_).count();
  std::string line = fmt::format("{} documents, {}, {}/s, {}/s", grouped(documents), bytes_text(static_cast<double>(bytes)),
                                 grouped(static_cast<uint64_t>(static_cast<double>(documents) / seconds)),
                                 bytes_text(static_cast<double>(bytes) / seconds));
  if (fraction > 0.001) {
    const double left = seconds / fraction * (1 - std::min(1.0, fraction));
    line += fmt::format(", {:.0f} % read, {} left", fraction * 100, duration_text(left));
  }
  if (!terminal_) {
    std::fprintf(stderr, "%s\n", line.c_str());
    return;
  }
  constexpr int bar_cells = 24;
  std::string bar;
  if (fraction >= 0) {
    const int full = std::clamp(static_cast<int>(fraction * bar_cells), 0, bar_cells);
    bar.append("[").append(static_cast<size_t>(full), '#').append(static_cast<size_t>(bar_cells - full), '.').append("] ");
  }
  clear();
  std::fprintf(stderr, "%s%s", bar.c_str(), line.c_str());
  std::fflush(stderr);
  shown_ = true;
}

void Progress::say(const std::string& line) {
  if (quiet_) return;
  clear();
  std::fprintf(stderr, "%s\n", line.c_str());
}

}  // namespace datasets::replay
