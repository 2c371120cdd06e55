#include "versions/past/skippy_node.h"

#include <algorithm>

#include "base/varint.h"

namespace versions::past {
namespace {

constexpr char leaf_form = 3, inner_form = 4;
constexpr size_t block_mappings = 64;

// Rows are written as their distances from the least row of the block.
void append_block(base::Bytes& out, std::span<const Mapping> mappings, uint64_t& row_before, uint32_t& second_before) {
  std::vector<uint64_t> rows;
  std::vector<Stamp> contents;
  for (const Mapping& mapping : mappings) {
    rows.push_back(static_cast<uint64_t>(mapping.row));
    contents.push_back(mapping.content);
  }
  const uint64_t least = *std::min_element(rows.begin(), rows.end());
  for (uint64_t& row : rows) row -= least;
  const unsigned bits = packed_width(*std::max_element(rows.begin(), rows.end()));
  const StampColumn column = StampColumn::of(contents);
  base::append_varint(out, base::zigzag(static_cast<int64_t>(least - row_before)));
  out.push_back(static_cast<char>(bits));
  column.append_header(out, second_before, contents.size());
  append_packed(out, rows, bits);
  column.append(out, contents);
  row_before = least, second_before = column.second;
}

bool take_block(base::BytesView& in, std::span<Mapping> mappings, uint64_t& row_before, uint32_t& second_before) {
  const auto distance = base::take_varint(in);
  if (!distance || in.empty()) return false;
  const uint64_t least = row_before + static_cast<uint64_t>(base::unzigzag(*distance));
  const auto bits = static_cast<uint8_t>(in[0]);
  in.remove_prefix(1);
  StampColumn column;
  if (!is_packed_width(bits) || !column.take_header(in, second_before, mappings.size())) return false;
  const size_t row_bytes = packed_bytes(mappings.size(), bits), content_bytes = packed_bytes(mappings.size(), column.bits());
  if (in.size() < row_bytes + content_bytes) return false;
  const char* const rows = in.data();
  const char* const contents = rows + row_bytes;
  if (column.has_zero(contents, mappings.size())) return false;
  for (size_t i = 0; i < mappings.size(); ++i)
    mappings[i] = {static_cast<RecordId>(least + packed_at(rows, i, bits)), column.at(contents, i)};
  in.remove_prefix(row_bytes + content_bytes);
  row_before = least, second_before = column.second;
  return true;
}

}  // namespace

SkippyNode::SkippyNode(uint64_t first_child, std::span<const PageTable> children) : first_child_(first_child) {
  bytes_.push_back(inner_form);
  base::append_varint(bytes_, first_child);
  base::append_varint(bytes_, children.size());
  for (const PageTable& child : children) base::append_varint(bytes_, child.pages());
  for (const PageTable& child : children) {
    const size_t begin = pages_.size();
    child.each_page([&](uint64_t number, uint64_t rows, std::span<const Stamp> contents) {
      const RowPage page = append_page(bytes_, pages_.size() > begin ? &pages_.back() : nullptr, number, rows, contents);
      pages_.push_back(page);
    });
    ends_.push_back(static_cast<uint32_t>(pages_.size()));
  }
  bytes_.append(packed_slack, '\0');
  count();
}

void SkippyNode::count() {
  size_t page = 0, sum = 0;
  for (const uint32_t end : ends_) {
    for (; page < end; ++page) sum += bits_in(pages_[page].rows);
    sums_.push_back(sum);
  }
}

SnapshotId SkippyNode::snapshot_of(uint32_t offset) const {
  return (std::upper_bound(starts_.begin(), starts_.end(), offset,
                           [](uint32_t at, const Start& start) { return at < start.offset; }) -
          1)
      ->snapshot;
}

MappingRun SkippyNode::from(uint32_t offset) const {
  if (is_leaf()) return {.mappings = std::span(mappings_).subspan(offset), .pages = {}};
  const auto part = std::upper_bound(ends_.begin(), ends_.end(), offset) - ends_.begin();
  const size_t before = part == 0 ? 0 : sums_[static_cast<size_t>(part) - 1];
  return {.mappings = {}, .pages = std::span(pages_).subspan(offset), .from = bytes_.data(), .in_pages = sums_.back() - before};
}

PageTable SkippyNode::first_of_each_row() const {
  PageTable table;
  table.take(from(0));
  return table;
}

size_t SkippyNode::memory_bytes() const {
  return sizeof *this + mappings_.capacity() * sizeof(Mapping) + starts_.capacity() * sizeof(Start) +
         ends_.capacity() * sizeof(uint32_t) + sums_.capacity() * sizeof(size_t) + pages_.capacity() * sizeof(RowPage) +
         bytes_.capacity();
}

base::Bytes SkippyNode::encode() const {
  if (!is_leaf()) return bytes_.substr(0, bytes_.size() - packed_slack);
  base::Bytes out;
  out.push_back(leaf_form);
  base::append_varint(out, mappings_.size());
  base::append_varint(out, starts_.size());
  Start before{0, 0};
  for (const Start& start : starts_) {
    base::append_varint(out, start.snapshot - before.snapshot);
    base::append_varint(out, start.offset - before.offset);
    before = start;
  }
  uint64_t row = 0;
  uint32_t second = 0;
  for (size_t at = 0; at < mappings_.size(); at += block_mappings) {
    append_block(out, std::span(mappings_).subspan(at, std::min(block_mappings, mappings_.size() - at)), row, second);
  }
  return out;
}

bool SkippyNode::take_leaf(base::BytesView in) {
  // If all mappings of a block are the same they take no bits, but a node of so many bytes can't have more blocks.
  const auto count = base::take_varint(in), starts = base::take_varint(in);
  if (!count || *count == 0 || *count / block_mappings > in.size() || *count > UINT32_MAX) return false;
  if (!starts || *starts == 0 || *starts > *count || *starts > in.size()) return false;
  Start at{0, 0};
  for (uint64_t i = 0; i < *starts; ++i) {
    const auto snapshot = base::take_varint(in), offset = base::take_varint(in);
    if (!snapshot || !offset || *snapshot == 0 || (i == 0) != (*offset == 0)) return false;
    if (*snapshot > UINT64_MAX - at.snapshot || *offset >= *count - at.offset) return false;
    at = {at.snapshot + *snapshot, static_cast<uint32_t>(at.offset + *offset)};
    starts_.push_back(at);
  }
  mappings_.resize(*count);
  uint64_t row = 0;
  uint32_t second = 0;
  for (size_t begin = 0; begin < mappings_.size(); begin += block_mappings) {
    if (!take_block(in, std::span(mappings_).subspan(begin, std::min(block_mappings, mappings_.size() - begin)), row, second))
      return false;
  }
  return in.empty();
}

bool SkippyNode::take_inner(base::BytesView in) {
  const auto first_child = base::take_varint(in), children = base::take_varint(in);
  if (!first_child || !children || *children == 0 || *children > in.size() || *first_child > UINT64_MAX - *children) return false;
  first_child_ = *first_child;
  uint64_t pages = 0;
  for (uint64_t child = 0; child < *children; ++child) {
    const auto part = base::take_varint(in);
    if (!part || *part == 0 || *part > in.size()) return false;
    ends_.push_back(static_cast<uint32_t>(pages += *part));
  }
  if (pages > in.size()) return false;
  pages_.resize(pages);
  const RowPage* before = nullptr;
  for (size_t i = 0, child = 0; i < pages; ++i) {
    if (i == ends_[child]) ++child, before = nullptr;
    if (!take_page(in, bytes_.data(), before, pages_[i])) return false;
    before = &pages_[i];
  }
  count();
  return in.empty();
}

base::Result<SkippyNodePtr> SkippyNode::decode(base::BytesView bytes) {
  const auto refused = [](const std::string& what) {
    return base::Failure{base::ErrorCode::data_corruption_detected, "a node of a snapshot log " + what};
  };
  if (bytes.empty() || bytes.size() > UINT32_MAX - packed_slack) return refused("is damaged");
  if (bytes[0] != leaf_form && bytes[0] != inner_form)
    return refused("has a form that isn't known: " + std::to_string(static_cast<uint8_t>(bytes[0])));
  base::Bytes own;
  own.reserve(bytes.size() + packed_slack);
  own.append(bytes).append(packed_slack, '\0');
  const std::shared_ptr<SkippyNode> node(new SkippyNode);
  node->bytes_ = std::move(own);
  const base::BytesView in = base::BytesView(node->bytes_).substr(1, bytes.size() - 1);
  const bool leaf = bytes[0] == leaf_form;
  if (!(leaf ? node->take_leaf(in) : node->take_inner(in))) return refused("is damaged");
  if (leaf) base::Bytes().swap(node->bytes_);
  return SkippyNodePtr(node);
}

}  // namespace versions::past
