#include "storage/column_block.h"

#include <algorithm>
#include <cstring>

#include "base/varint.h"
#include "dedup/block_sorting.h"

namespace storage {
namespace {

constexpr char mark = 0x43;
constexpr char mark_sorted = 0x44;
constexpr int numbers_level_more = 4;  // a twentieth of the page, and what compresses best

base::Failure corrupt(const std::string& what) { return {base::ErrorCode::data_corruption_detected, what}; }

base::Result<BytesView> take_frame(BytesView& in) {
  const size_t bytes = ZSTD_findFrameCompressedSize(in.data(), in.size());
  if (ZSTD_isError(bytes)) return corrupt("its bytes are not those that were written");
  const BytesView frame = in.substr(0, bytes);
  in.remove_prefix(bytes);
  return frame;
}

base::Result<Bytes> unpack_sorted(BytesView packed, size_t bytes_max) {
  auto out = dedup::sort_unpack(packed, bytes_max);
  if (!out) return corrupt("its columns are not those that were written");
  return std::move(*out);
}

base::Result<Bytes> unpack(ZSTD_DCtx* context, BytesView frame, const ZSTD_DDict* dictionary, size_t bytes_max) {
  const auto bytes = ZSTD_getFrameContentSize(frame.data(), frame.size());
  if (bytes == ZSTD_CONTENTSIZE_ERROR || bytes == ZSTD_CONTENTSIZE_UNKNOWN || bytes > bytes_max) return corrupt("it is longer than a page can be");
  Bytes out(bytes, '\0');
  const size_t made = dictionary ? ZSTD_decompress_usingDDict(context, out.data(), out.size(), frame.data(), frame.size(), dictionary)
                                 : ZSTD_decompressDCtx(context, out.data(), out.size(), frame.data(), frame.size());
  if (ZSTD_isError(made)) return corrupt(ZSTD_getErrorName(made));
  if (made != out.size()) return corrupt("it is shorter than it says");
  return out;
}

}  // namespace

size_t write_column_block(ZSTD_CCtx* context, const PageColumns& columns, BytesView dictionary, int level, uint8_t* to, size_t to_bytes) {
  Bytes head(1, mark);
  base::append_varint(head, columns.plain.size());
  if (head.size() + columns.plain.size() >= to_bytes) return 0;
  uint8_t* at = std::copy(head.begin(), head.end(), to);
  at = std::copy(columns.plain.begin(), columns.plain.end(), at);
  uint8_t* const end = to + to_bytes;
  const size_t numbers = ZSTD_compressCCtx(context, at, static_cast<size_t>(end - at), columns.numbers.data(), columns.numbers.size(),
                                           std::min(level + numbers_level_more, 19));
  if (ZSTD_isError(numbers)) return 0;
  at += numbers;
  const size_t bodies = ZSTD_compress_usingDict(context, at, static_cast<size_t>(end - at), columns.bodies.data(), columns.bodies.size(),
                                                dictionary.data(), dictionary.size(), level);
  if (ZSTD_isError(bodies)) return 0;
  return static_cast<size_t>(at - to) + bodies;
}

size_t write_sorted_block(const PageColumns& columns, uint8_t* to, size_t to_bytes) {
  if (std::max(columns.numbers.size(), columns.bodies.size()) > dedup::sorted_bytes_max) return 0;
  Bytes block(1, mark_sorted);
  base::append_varint(block, columns.plain.size());
  block += columns.plain;
  for (const Bytes* column : {&columns.numbers, &columns.bodies}) {
    const Bytes sorted = dedup::sort_pack(*column);
    base::append_varint(block, sorted.size());
    block += sorted;
  }
  if (block.size() > to_bytes) return 0;
  std::copy(block.begin(), block.end(), to);
  return block.size();
}

bool is_column_block(BytesView block) { return !block.empty() && (block[0] == mark || block[0] == mark_sorted); }

base::Result<ColumnBlock> parse_column_block(BytesView block) {
  if (!is_column_block(block)) return corrupt("it is not laid out by columns");
  ColumnBlock parsed;
  parsed.sorted = block[0] == mark_sorted;
  block.remove_prefix(1);
  const auto plain = base::take_varint(block);
  if (!plain || *plain > block.size()) return corrupt("it is cut short");
  parsed.plain = block.substr(0, *plain);
  block.remove_prefix(*plain);
  if (parsed.sorted) {
    for (BytesView* column : {&parsed.numbers, &parsed.bodies}) {
      const auto bytes = base::take_varint(block);
      if (!bytes || *bytes > block.size()) return corrupt("it is cut short");
      *column = block.substr(0, *bytes);
      block.remove_prefix(*bytes);
    }
    return parsed;
  }
  auto numbers = take_frame(block);
  if (!numbers) return numbers.failure();
  parsed.numbers = *numbers;
  auto bodies = take_frame(block);
  if (!bodies) return bodies.failure();
  parsed.bodies = *bodies;
  return parsed;
}

base::Result<Bytes> read_column_block(ZSTD_DCtx* context, const ColumnBlock& block, const ZSTD_DDict* dictionary, size_t page_bytes_max) {
  // A row's numbers take less than its bytes, but for a few at the begin.
  const size_t numbers_max = 2 * page_bytes_max + 1024;
  auto numbers = block.sorted ? unpack_sorted(block.numbers, numbers_max) : unpack(context, block.numbers, nullptr, numbers_max);
  if (!numbers) return numbers.failure();
  auto bodies = block.sorted ? unpack_sorted(block.bodies, page_bytes_max) : unpack(context, block.bodies, dictionary, page_bytes_max);
  if (!bodies) return bodies.failure();
  auto page = join_page(*numbers, block.plain, *bodies, page_bytes_max);
  if (!page) return corrupt("its columns don't make a page");
  return std::move(*page);
}

}  // namespace storage
