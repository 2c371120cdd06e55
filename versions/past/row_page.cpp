#include "versions/past/row_page.h"

#include <algorithm>

#include "base/varint.h"

namespace versions::past {

RowPage append_page(base::Bytes& out, const RowPage* before, uint64_t number, uint64_t rows, std::span<const Stamp> contents) {
  base::append_varint(out, before ? number - before->number : number);
  const size_t bytes = out.size();
  out.push_back(0);
  for (unsigned byte = 0; byte < 8; ++byte) {
    const auto some = static_cast<char>(rows >> (8 * byte));
    if (some == 0) continue;
    out[bytes] = static_cast<char>(out[bytes] | 1 << byte);
    out.push_back(some);
  }
  const StampColumn column = StampColumn::of(contents);
  column.append_header(out, before ? before->contents.second : 0, contents.size());
  const auto packed = static_cast<uint32_t>(out.size());
  column.append(out, contents);
  return {number, rows, column, packed};
}

bool take_page(base::BytesView& in, const char* from, const RowPage* before, RowPage& page) {
  const auto distance = base::take_varint(in);
  if (!distance || (before && *distance == 0) || in.empty()) return false;
  const uint64_t start = before ? before->number : 0;
  if (*distance > RowPage::number_of(-1) - start) return false;
  page.number = start + *distance;
  const auto bytes = static_cast<uint8_t>(in[0]);
  in.remove_prefix(1);
  if (bytes == 0 || in.size() < bits_in(bytes)) return false;
  page.rows = 0;
  size_t taken = 0;
  bool all = true;
  each_place(bytes, [&](unsigned byte) {
    const auto some = static_cast<uint8_t>(in[taken++]);
    page.rows |= uint64_t{some} << (8 * byte);
    all = all && some != 0;
  });
  if (!all) return false;
  in.remove_prefix(taken);
  const size_t rows = bits_in(page.rows);
  if (!page.contents.take_header(in, before ? before->contents.second : 0, rows)) return false;
  if (page.contents.has_zero(in.data(), rows)) return false;
  page.packed = static_cast<uint32_t>(in.data() - from);
  in.remove_prefix(packed_bytes(rows, page.contents.bits()));
  return true;
}

std::optional<Stamp> MappingRun::find(RecordId row) const {
  const auto at = std::find_if(mappings.begin(), mappings.end(), [&](const Mapping& mapping) { return mapping.row == row; });
  if (at != mappings.end()) return at->content;
  const unsigned place = RowPage::place_of(row);
  for (const RowPage& page : pages) {
    if (page.number != RowPage::number_of(row) || !(page.rows >> place & 1)) continue;
    return page.contents.at(from + page.packed, RowPage::rank(page.rows, place));
  }
  return std::nullopt;
}

}  // namespace versions::past
