// This target reads any bytes as a page that WiredTiger hands over to be compressed. The page is left as it is, or laid out by
// columns that join to it again. The target also reads any bytes as columns: they are refused, or make a page within its length.
//
//   part: numbers | part: plain bytes | rest: bodies; and all of the input: a page
#include <algorithm>

#include "base/fuzz_target.h"
#include "storage/format/page_cells.h"
#include "storage/format/page_columns.h"
#include "storage/format/record_format.h"

namespace {

using namespace storage;

constexpr size_t page_bytes_max = 1 << 18;

bool check_split(BytesView page) {
  bool split = false;
  for (const PageKind kind : {PageKind::contents, PageKind::entries}) {
    const auto columns = split_page(page, kind);
    if (!columns) continue;
    split = true;
    base::check(join_page(columns->numbers, columns->plain, columns->bodies, page.size()) == page);
    if (!page.empty()) base::check(!join_page(columns->numbers, columns->plain, columns->bodies, page.size() - 1));
  }
  return split;
}

bool run(BytesView input) {
  const bool split = check_split(input);
  base::FuzzReader reader(input);
  const BytesView numbers = reader.part(), plain = reader.part();
  const auto joined = join_page(numbers, plain, reader.rest(), page_bytes_max);
  if (!joined) return split;
  base::check(joined->size() <= page_bytes_max);
  check_split(*joined);
  return true;
}

void append_row(Bytes& page, const Bytes& key, const Bytes& value, uint8_t prefix = 0) {
  page += key_header(prefix, key.size() - prefix) + key.substr(prefix) + value_header(value.size()) + value;
}

Bytes page_of_records() {
  Bytes page;
  for (RecordId record = 1; record <= 12; ++record) {
    const Stamp generation = (Stamp{1'710'000'000} << 32) + static_cast<Stamp>(record);
    append_row(page, record_key(record),
               record % 3 == 0 ? stub_row(record, generation, 1)
                               : raw_row(generation, 5, Bytes("\x0a\0\0\0", 4) + "bodies",
                                         {.pre_states = record % 2 ? "p" : "", .behind = true}));
  }
  return page;
}

Bytes page_of_chains() {
  Bytes page;
  for (RecordId record = 1; record <= 12; ++record) {
    const ChainKey key{1, {record, Stamp{1'710'000'000} << 32}}, next{1, {record + 1, Stamp{1'710'000'000} << 32}};
    const ChainRow delta{.form = ChainRow::Form::delta,
                         .references = 1,
                         .length = 3,
                         .checksum = 9,
                         .base = next,
                         .payload = BytesView("\3\0\3\0", 4)},
        raw{.references = 2, .length = 4, .checksum = 7, .base = {}, .payload = "body"};
    append_row(page, chain_key(key), chain_row(key, record < 12 ? delta : raw));
  }
  return page;
}

Bytes page_of_entries() {
  Bytes page, last;
  for (RecordId record = 1; record <= 12; ++record) {
    const Bytes key = "the key of an entry " + record_key(record) + (record % 4 ? "" : "!");
    const auto same = static_cast<size_t>(std::mismatch(last.begin(), last.end(), key.begin(), key.end()).first - last.begin());
    append_row(page, key, record_key(record + 100), usual_prefix(same));
    last = key;
  }
  return page;
}

std::vector<Bytes> seeds() {
  const auto columns = split_page(page_of_records(), PageKind::contents).value();
  return {page_of_records(), page_of_chains(), page_of_entries(),
          base::FuzzWriter().part(columns.numbers).part(columns.plain).rest(columns.bodies)};
}

const base::FuzzTarget target("page_columns", run, seeds);

}  // namespace
