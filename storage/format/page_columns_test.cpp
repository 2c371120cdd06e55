// These tests check pages by columns: the joined page is the one that was split, whatever it holds, and damage is refused.
#include "storage/format/page_columns.h"

#include <rapidcheck/catch.h>
#include <catch2/catch.hpp>

#include "base/random.h"
#include "bson/builder.h"
#include "storage/format/column_block.h"
#include "storage/format/page_cells.h"
#include "storage/format/record_format.h"

using namespace storage;

namespace {

Bytes document(base::Random& random) {
  bson::Builder out;
  out.append("_id", static_cast<int64_t>(random.below(1000))).append("text", std::string(random.below(200), 'x'));
  return Bytes(out.done().bytes());
}

Stamp stamp(uint64_t second, uint64_t count) {
  return (1704067200 + second) << 32 | count;
}

void add_row(Bytes& page, BytesView key, BytesView value, base::Random& random, bool windows) {
  page += key_header(0, key.size());
  page += key;
  if (windows && random.below(10) == 0) {
    page += "\x88\x20\x85";  // this window begins with transaction 5
    page += static_cast<char>(0x80 | value.size() % 0x40);
    page += value.substr(0, value.size() % 0x40);
    return;
  }
  page += value_header(value.size());
  page += value;
}

// Makes a page as WiredTiger lays it out, without the bytes of the first row that a compressor doesn't see.
Bytes records_page(base::Random& random, size_t rows, size_t hidden = 24, bool windows = false) {
  Bytes page;
  RecordId record = 1 + static_cast<RecordId>(random.below(1000));
  uint64_t second = random.below(1u << 20), count = 1;
  for (size_t i = 0; i < rows; ++i) {
    record += 1 + static_cast<RecordId>(random.below(3) == 0 ? random.below(300) : 0);
    if (random.below(8) == 0) ++second, count = 0;
    count += 1 + random.below(3);
    const Bytes content = document(random);
    const Bytes list = random.below(4) ? Bytes() : Bytes(1 + random.below(200), 'l');
    const RowPast past{list, random.below(5) == 0};
    const Bytes row = random.below(2) ? stub_row(record, stamp(second, count),
                                                 1 + static_cast<RecordId>(random.below(static_cast<uint64_t>(record))), past)
                                      : raw_row(stamp(second, count), static_cast<uint32_t>(random()), content, past);
    add_row(page, record_key(record), row, random, windows && row[0] == 2);
  }
  return page.substr(std::min(hidden, page.size()));
}

Bytes noise(base::Random& random, size_t bytes) {
  Bytes out(bytes, '\0');
  for (char& c : out) c = static_cast<char>(random());
  return out;
}

Bytes chains_page(base::Random& random, size_t rows) {
  std::vector<ChainKey> keys;
  ChainKey key{1 + static_cast<RecordId>(random.below(100)), {}};
  for (size_t i = 0; i < rows; ++i) {
    if (random.below(5) == 0) key.chain += 1 + static_cast<RecordId>(random.below(10)), key.content.record = key.chain;
    key.content.record = std::max(key.content.record, key.chain) + 1 + static_cast<RecordId>(random.below(40));
    key.content.generation =
        stamp(static_cast<uint64_t>(key.content.record) / 100, static_cast<uint64_t>(key.content.record) % 100);
    keys.push_back(key);
  }
  Bytes page;
  for (size_t i = 0; i < rows; ++i) {
    ChainRow row;
    row.references = random.below(3);
    row.dead = random.below(6) == 0;
    row.checksum = static_cast<uint32_t>(random());
    Bytes payload, list;
    if (random.below(5) == 0) {
      payload = document(random);
      row.length = payload.size();
      row.kept = row.dead && random.below(2);
      if (row.kept) list = Bytes(random.below(300), 'l');
      row.pre_states = list;
    } else {
      row.form = ChainRow::Form::delta;
      row.choice = static_cast<dedup::Choice>(random.below(4));
      row.length = 20 + random.below(3000);
      const size_t next = i + 1 + random.below(3);
      row.base = next < rows && random.below(4)
                     ? keys[next]
                     : ChainKey{1 + static_cast<RecordId>(random.below(50)),
                                {keys[i].content.record + 7, stamp(random.below(1 << 20), random.below(9))}};
      if (row.base.content <= keys[i].content) row.base.content.record = keys[i].content.record + 1;
      if (random.below(4) == 0) {
        payload = Bytes(random.below(100), 'p');  // these are not instructions
      } else {
        base::append_varint(payload, row.length);
        base::append_varint(payload, 3);
        payload += "abc";
        base::append_varint(payload, row.length - 3);
        base::append_varint(payload, random.below(1000));
      }
    }
    row.payload = payload;
    add_row(page, chain_key(keys[i]), chain_row(keys[i], row), random, false);
  }
  return page.substr(std::min<size_t>(24, page.size()));
}

Bytes entries_page(base::Random& random, size_t rows) {
  Bytes page, last;
  uint64_t number = random.below(1000);
  const bool unique = random.below(2), typed = random.below(2);
  for (size_t i = 0; i < rows; ++i) {
    number += 1 + random.below(random.below(4) ? 2 : 1000000);
    Bytes key(1, '\x20');
    if (random.below(6) == 0) key += Bytes(random.below(30), 'k');
    base::append_be64(key, number);
    if (random.below(9) == 0) key += Bytes(random.below(80), 'q');
    const size_t same = static_cast<size_t>(
        std::mismatch(key.begin(), key.begin() + static_cast<ptrdiff_t>(std::min(key.size(), last.size())), last.begin()).first -
        key.begin());
    const uint8_t prefix = random.below(20) ? usual_prefix(same) : 0;
    page += key_header(prefix, key.size() - prefix);
    page += key.substr(prefix);
    if (unique) {
      Bytes value = random.below(30) ? record_key(static_cast<RecordId>(number + 5)) : Bytes("odd");
      if (typed) value += random.below(4) ? Bytes(1, '\1') : noise(random, random.below(10));
      page += value_header(value.size());
      page += value;
    }
    last = key;
  }
  return page.substr(std::min<size_t>(24, page.size()));
}

void check_round_trip(const Bytes& page, PageKind kind) {
  const auto split = split_page(page, kind);
  REQUIRE(split);
  const auto joined = join_page(split->numbers, split->plain, split->bodies, page.size());
  REQUIRE(joined);
  REQUIRE(*joined == page);
  REQUIRE(!join_page(split->numbers, split->plain, split->bodies, page.size() - 1));
}

}  // namespace

TEST_CASE("A page by columns is joined to the same page") {
  rc::prop("rows of records", [] {
    base::Random random(*rc::gen::arbitrary<uint32_t>());
    check_round_trip(records_page(random, 20 + random.below(300)), PageKind::contents);
  });
  rc::prop("with windows of visibility", [] {
    base::Random random(*rc::gen::arbitrary<uint32_t>());
    const Bytes page = records_page(random, 20 + random.below(300), 24, true);
    const auto split = split_page(page, PageKind::contents);
    if (split) RC_ASSERT(join_page(split->numbers, split->plain, split->bodies, page.size()) == page);
  });
  rc::prop("rows of chains", [] {
    base::Random random(*rc::gen::arbitrary<uint32_t>());
    check_round_trip(chains_page(random, 20 + random.below(300)), PageKind::contents);
  });
  rc::prop("entries of an index", [] {
    base::Random random(*rc::gen::arbitrary<uint32_t>());
    check_round_trip(entries_page(random, 40 + random.below(300)), PageKind::entries);
  });
}

TEST_CASE("bytes before and after the rows stay as they are") {
  base::Random random(7);
  for (int round = 0; round < 50; ++round) {
    const Bytes page = noise(random, random.below(100)) + chains_page(random, 60) + "\x60" + noise(random, random.below(100));
    const auto split = split_page(page, PageKind::contents);
    REQUIRE(split);
    REQUIRE(join_page(split->numbers, split->plain, split->bodies, page.size()) == page);
  }
}

TEST_CASE("A page without rows is not laid out by columns") {
  base::Random random(1);
  REQUIRE(!split_page({}, PageKind::contents));
  REQUIRE(!split_page(noise(random, 4000), PageKind::contents));
  REQUIRE(!split_page(Bytes(4000, '\0'), PageKind::contents));
  REQUIRE(!split_page(records_page(random, 5), PageKind::contents));
}

TEST_CASE("Columns that count up take next to nothing") {
  Bytes page;
  for (RecordId record = 1000; record < 2000; ++record) {
    const Bytes row = stub_row(record, stamp(5, static_cast<uint64_t>(record)), 7);
    page += key_header(0, 3) + record_key(record) + value_header(row.size()) + row;
  }
  const auto split = split_page(BytesView(page).substr(24), PageKind::contents);
  REQUIRE(split);
  Bytes block(page.size(), '\0');
  ZSTD_CCtx* context = ZSTD_createCCtx();
  const size_t bytes = write_column_block(context, *split, {}, 12, reinterpret_cast<uint8_t*>(block.data()), block.size());
  ZSTD_freeCCtx(context);
  REQUIRE(bytes > 0);
  REQUIRE(bytes < 200);
}

TEST_CASE("entries whose keys have types take next to nothing if they count up") {
  for (const Bytes& types : {Bytes(), Bytes(1, '\1'), Bytes(7, '\2'), Bytes(1, '\0')}) {
    Bytes page, last;
    for (RecordId record = 1000; record < 2000; ++record) {
      Bytes key(1, '\x20');
      base::append_be64(key, static_cast<uint64_t>(record));
      const Bytes value = record_key(record) + types;
      page += key_header(0, key.size()) + key + value_header(value.size()) + value;
    }
    const auto split = split_page(BytesView(page).substr(24), PageKind::entries);
    REQUIRE(split);
    Bytes block(page.size(), '\0');
    ZSTD_CCtx* context = ZSTD_createCCtx();
    const size_t bytes = write_column_block(context, *split, {}, 3, reinterpret_cast<uint8_t*>(block.data()), block.size());
    ZSTD_freeCCtx(context);
    REQUIRE(bytes > 0);
    CHECK(bytes < 200);
  }
}

TEST_CASE("Damaged columns are refused or make some page, and never more than allowed") {
  base::Random random(3);
  size_t refused = 0;
  for (int round = 0; round < 3000; ++round) {
    const bool entries = round % 3 == 2;
    const Bytes page = round % 3 == 0 ? records_page(random, 40) : entries ? entries_page(random, 60) : chains_page(random, 40);
    auto split = split_page(page, entries ? PageKind::entries : PageKind::contents);
    REQUIRE(split);
    Bytes& hurt = random.below(4) ? split->numbers : random.below(2) ? split->bodies : split->plain;
    if (hurt.empty()) continue;
    for (uint64_t hits = 1 + random.below(3); hits > 0; --hits) hurt[random.below(hurt.size())] = static_cast<char>(random());
    if (random.below(4) == 0) hurt.resize(random.below(hurt.size()));
    const auto joined = join_page(split->numbers, split->plain, split->bodies, page.size());
    if (!joined) {
      ++refused;
    } else {
      REQUIRE(joined->size() <= page.size());
    }
  }
  REQUIRE(refused > 1000);
}

TEST_CASE("A block by columns comes back with its dictionary, and a damaged one is refused") {
  base::Random random(5);
  const Bytes page = records_page(random, 200);
  const auto split = split_page(page, PageKind::contents);
  REQUIRE(split);
  ZSTD_CCtx* packing = ZSTD_createCCtx();
  ZSTD_DCtx* unpacking = ZSTD_createDCtx();
  Bytes block(page.size(), '\0');
  const size_t bytes = write_column_block(packing, *split, {}, 12, reinterpret_cast<uint8_t*>(block.data()), block.size());
  REQUIRE(bytes > 0);
  REQUIRE(write_column_block(packing, *split, {}, 12, reinterpret_cast<uint8_t*>(block.data()), bytes / 2) == 0);
  write_column_block(packing, *split, {}, 12, reinterpret_cast<uint8_t*>(block.data()), block.size());
  block.resize(bytes + 100);  // zeroes follow it, as in a file
  for (size_t i = bytes; i < block.size(); ++i) block[i] = '\0';
  auto parsed = parse_column_block(block);
  REQUIRE(parsed);
  auto read = read_column_block(unpacking, *parsed, nullptr, page.size());
  REQUIRE(read);
  REQUIRE(*read == page);
  REQUIRE(!read_column_block(unpacking, *parsed, nullptr, page.size() / 2));
  size_t refused = 0;
  for (int round = 0; round < 500; ++round) {
    Bytes hurt = block.substr(0, bytes);
    hurt[random.below(hurt.size())] ^= static_cast<char>(1 + random.below(255));
    auto damaged = parse_column_block(hurt);
    if (!damaged || !read_column_block(unpacking, *damaged, nullptr, page.size())) ++refused;
  }
  REQUIRE(refused > 100);
  for (size_t length = 0; length < bytes; length += 7) {
    auto cut = parse_column_block(BytesView(block).substr(0, length));
    REQUIRE((!cut || !read_column_block(unpacking, *cut, nullptr, page.size())));
  }
  ZSTD_freeCCtx(packing);
  ZSTD_freeDCtx(unpacking);
}
