#include "storage/format/column_block.h"

#include <algorithm>
#include <cstring>

#include "base/varint.h"

namespace storage {
namespace {

constexpr char mark = 0x43;
constexpr int numbers_level_more = 4;  // the numbers are a twentieth of the page and compress best

base::Failure corrupt(const std::string& what) {
  return {base::ErrorCode::data_corruption_detected, what};
}

base::Result<BytesView> take_frame(BytesView& in) {
  const size_t bytes = ZSTD_findFrameCompressedSize(in.data(), in.size());
  if (ZSTD_isError(bytes)) return corrupt("its bytes are not those that were written");
  const BytesView frame = in.substr(0, bytes);
  in.remove_prefix(bytes);
  return frame;
}

base::Result<Bytes> unpack(ZSTD_DCtx* context, BytesView frame, const ZSTD_DDict* dictionary, size_t bytes_max) {
  const auto bytes = ZSTD_getFrameContentSize(frame.data(), frame.size());
  if (bytes == ZSTD_CONTENTSIZE_ERROR || bytes == ZSTD_CONTENTSIZE_UNKNOWN || bytes > bytes_max)
    return corrupt("it is longer than a page can be");
  Bytes out(bytes, '\0');
  const size_t made = dictionary
                          ? ZSTD_decompress_usingDDict(context, out.data(), out.size(), frame.data(), frame.size(), dictionary)
                          : ZSTD_decompressDCtx(context, out.data(), out.size(), frame.data(), frame.size());
  if (ZSTD_isError(made)) return corrupt(ZSTD_getErrorName(made));
  if (made != out.size()) return corrupt("it is shorter than it says");
  return out;
}

}  // namespace

size_t write_column_block(ZSTD_CCtx* context, const PageColumns& columns, BytesView dictionary, int level, uint8_t* to,
                          size_t to_bytes) {
  Bytes head(1, mark);
  base::append_varint(head, columns.plain.size());
  if (head.size() + columns.plain.size() >= to_bytes) return 0;
  uint8_t* at = std::copy(head.begin(), head.end(), to);
  at = std::copy(columns.plain.begin(), columns.plain.end(), at);
  uint8_t* const end = to + to_bytes;
  const size_t numbers = ZSTD_compressCCtx(context, at, static_cast<size_t>(end - at), columns.numbers.data(),
                                           columns.numbers.size(), std::min(level + numbers_level_more, 19));
  if (ZSTD_isError(numbers)) return 0;
  at += numbers;
  const size_t bodies = ZSTD_compress_usingDict(context, at, static_cast<size_t>(end - at), columns.bodies.data(),
                                                columns.bodies.size(), dictionary.data(), dictionary.size(), level);
  if (ZSTD_isError(bodies)) return 0;
  return static_cast<size_t>(at - to) + bodies;
}

bool is_column_block(BytesView block) {
  return !block.empty() && block[0] == mark;
}

base::Result<ColumnBlock> parse_column_block(BytesView block) {
  if (!is_column_block(block)) return corrupt("it is not laid out by columns");
  block.remove_prefix(1);
  ColumnBlock parsed;
  const auto plain = base::take_varint(block);
  if (!plain || *plain > block.size()) return corrupt("it is cut short");
  parsed.plain = block.substr(0, *plain);
  block.remove_prefix(*plain);
  auto numbers = take_frame(block);
  if (!numbers) return numbers.failure();
  parsed.numbers = *numbers;
  auto bodies = take_frame(block);
  if (!bodies) return bodies.failure();
  parsed.bodies = *bodies;
  return parsed;
}

base::Result<Bytes> read_column_block(ZSTD_DCtx* context, const ColumnBlock& block, const ZSTD_DDict* dictionary,
                                      size_t page_bytes_max) {
  // A row's numbers take fewer bytes than the row, except for a few at the beginning.
  auto numbers = unpack(context, block.numbers, nullptr, 2 * page_bytes_max + 1024);
  if (!numbers) return numbers.failure();
  auto bodies = unpack(context, block.bodies, dictionary, page_bytes_max);
  if (!bodies) return bodies.failure();
  auto page = join_page(*numbers, block.plain, *bodies, page_bytes_max);
  if (!page) return corrupt("its columns don't make a page");
  return std::move(*page);
}

}  // namespace storage
