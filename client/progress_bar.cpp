#include "client/progress_bar.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "client/table.h"
#include "datasets/replay/progress.h"

namespace client {

std::string progress_line(const std::string& what, bool bytes, uint64_t done, uint64_t total, double seconds) {
  const auto number = [&](uint64_t n) {
    return bytes ? size_text(static_cast<int64_t>(n)) : count_text(static_cast<int64_t>(n));
  };
  if (total == 0) return fmt::format("{} {}", what, number(done));
  const double share = std::min(1.0, static_cast<double>(done) / static_cast<double>(total));
  constexpr size_t cells = 24;
  const auto full = static_cast<size_t>(share * cells);
  std::string line = fmt::format("{} [{}{}] {:.0f} %, {} of {}", what, std::string(full, '#'), std::string(cells - full, '.'),
                                 share * 100, number(done), number(total));
  if (share > 0.001 && share < 1)
    line += fmt::format(", {} left", datasets::replay::duration_text(seconds / share * (1 - share)));
  return line;
}

ProgressBar::ProgressBar(std::string what, bool bytes)
    : what_(std::move(what)), bytes_(bytes), terminal_(::isatty(STDERR_FILENO) == 1) {}

ProgressBar::~ProgressBar() {
  if (shown_) std::fputs("\r\x1b[K", stderr);
}

void ProgressBar::show(uint64_t done, uint64_t total) {
  const auto now = Clock::now();
  if (!terminal_ || now < next_) return;
  next_ = now + std::chrono::milliseconds(200);
  const double seconds = std::chrono::duration<double>(now - begun_).count();
  std::fprintf(stderr, "\r\x1b[K%s", progress_line(what_, bytes_, done, total, seconds).c_str());
  std::fflush(stderr);
  shown_ = true;
}

}  // namespace client
