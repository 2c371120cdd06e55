#include "datasets/input/lines.h"

#include <algorithm>
#include <utility>

namespace datasets {

std::optional<std::string_view> LineReader::next() {
  from_.take(std::exchange(taken_, 0));
  offset_ = from_.offset();
  too_long_ = false;
  whole_.clear();
  auto without_cr = [](std::string_view line) {
    return line.empty() || line.back() != '\r' ? line : line.substr(0, line.size() - 1);
  };
  bool any = false;
  for (;;) {
    const base::BytesView chunk = from_.chunk();
    if (chunk.empty()) break;
    if (!any) ++line_;
    any = true;
    const size_t end = chunk.find('\n');
    if (end != base::BytesView::npos && whole_.empty() && !too_long_) {
      taken_ = end + 1;
      return without_cr(chunk.substr(0, end));
    }
    const base::BytesView piece = chunk.substr(0, end);
    const size_t room = bytes_max_ - std::min(bytes_max_, whole_.size());
    too_long_ = too_long_ || piece.size() > room;
    whole_.append(piece.substr(0, room));
    from_.take(end == base::BytesView::npos ? chunk.size() : end + 1);
    if (end != base::BytesView::npos) break;
  }
  if (!any) return std::nullopt;
  return without_cr(whole_);
}

}  // namespace datasets
