// This target reads any bytes as a compressed page of columns, with a dictionary and without. The block is refused as damaged
// data, or makes a page within its length, whatever follows the block.
#include <memory>

#include "base/fuzz_target.h"
#include "storage/format/column_block.h"
#include "storage/format/page_cells.h"
#include "storage/format/record_format.h"

namespace {

using namespace storage;

constexpr size_t page_bytes_max = 1 << 16;
constexpr char dictionary[] = "bodies of a page have much in common with each other, and with these words";

struct Context {
  ZSTD_DCtx* decompress = ZSTD_createDCtx();
  ZSTD_CCtx* compress = ZSTD_createCCtx();
  ZSTD_DDict* dictionary_for_reading = ZSTD_createDDict(dictionary, sizeof dictionary);
};

Context& context() {
  static Context made;
  return made;
}

bool run(BytesView input) {
  const auto block = parse_column_block(input);
  base::check(block.ok() || block.failure().code == base::ErrorCode::data_corruption_detected);
  if (!block.ok()) return false;
  bool read = false;
  for (const ZSTD_DDict* words : {static_cast<ZSTD_DDict*>(nullptr), context().dictionary_for_reading}) {
    const auto page = read_column_block(context().decompress, block.value(), words, page_bytes_max);
    base::check(page.ok() ? page.value().size() <= page_bytes_max
                          : page.failure().code == base::ErrorCode::data_corruption_detected);
    read = read || page.ok();
  }
  return read;
}

Bytes block_of(const PageColumns& columns, BytesView words) {
  Bytes block(1 << 12, '\0');
  block.resize(write_column_block(context().compress, columns, words, 3, reinterpret_cast<uint8_t*>(block.data()), block.size()));
  return block;
}

std::vector<Bytes> seeds() {
  Bytes page;
  for (RecordId record = 1; record <= 12; ++record) {
    const Bytes key = record_key(record),
                value = raw_row(Stamp{1'710'000'000} << 32, 5, "bodies of a page have much in common with each other");
    page += key_header(0, key.size()) + key + value_header(value.size()) + value;
  }
  const auto columns = split_page(page, PageKind::contents).value();
  return {block_of(columns, {}), block_of(columns, BytesView(dictionary, sizeof dictionary)) + Bytes(5, '\0')};
}

const base::FuzzTarget target("column_block", run, seeds);

}  // namespace
