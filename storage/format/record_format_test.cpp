#include "storage/format/record_format.h"

#include <rapidcheck.h>
#include <catch2/catch.hpp>

using namespace storage;
using base::Bytes;

namespace {

Stamp stamp(uint32_t seconds, uint32_t count) {
  return static_cast<Stamp>(seconds) << 32 | count;
}

// The generated ids have all lengths.
rc::Gen<RecordId> record_ids() {
  return rc::gen::map(rc::gen::pair(rc::gen::inRange<int>(2, 64), rc::gen::arbitrary<uint64_t>()),
                      [](std::pair<int, uint64_t> pair) { return static_cast<RecordId>(pair.second >> pair.first) + 1; });
}

}  // namespace

TEST_CASE("rows of records come back as they were written") {
  CHECK(rc::check("raw", [](Stamp generation, uint32_t checksum, const std::string& content) {
    const Bytes row = raw_row(generation, checksum, content);
    const auto parsed = parse_record_row(row, 7);
    RC_ASSERT(parsed.ok());
    RC_ASSERT(parsed.value().form == RecordRow::Form::raw);
    RC_ASSERT(parsed.value().generation == generation);
    RC_ASSERT(parsed.value().checksum == checksum);
    RC_ASSERT(parsed.value().content == content);
  }));
  CHECK(rc::check("stub", [](Stamp generation) {
    const RecordId record = *record_ids();
    const RecordId chain = *record_ids();
    const Bytes row = stub_row(record, generation, chain);
    const auto parsed = parse_record_row(row, record);
    RC_ASSERT(parsed.ok());
    RC_ASSERT(parsed.value().form == RecordRow::Form::stub);
    RC_ASSERT(parsed.value().generation == generation);
    RC_ASSERT(parsed.value().chain == chain);
  }));
  CHECK(rc::check("head", [](uint32_t ordinal, uint64_t references) {
    const RecordId record = *record_ids();
    const HeadRow head{*record_ids(), ordinal, references};
    const auto parsed = parse_head_row(head_row(record, head), record);
    RC_ASSERT(parsed.ok());
    RC_ASSERT(parsed.value().chain == head.chain);
    RC_ASSERT(parsed.value().ordinal == ordinal);
    RC_ASSERT(parsed.value().references == references);
  }));
}

TEST_CASE("a stub takes a dozen bytes at most") {
  CHECK(stub_row(44'384, stamp(1'790'000'000, 9'999), 44'000).size() <= 12);
}

TEST_CASE("keys of the chain table sort by chain, record and generation") {
  CHECK(rc::check("order", [] {
    const ChainKey a{*record_ids(), {*record_ids(), *rc::gen::arbitrary<Stamp>()}};
    ChainKey b{*record_ids(), {*record_ids(), *rc::gen::arbitrary<Stamp>()}};
    if (*rc::gen::arbitrary<bool>()) b.chain = a.chain;
    RC_ASSERT((chain_key(a) < chain_key(b)) == (a < b));
    RC_ASSERT(parse_chain_key(chain_key(a)).value() == a);
    RC_ASSERT(chain_key(a).starts_with(chain_prefix(a.chain)));
  }));
}

TEST_CASE("rows of chains come back as they were written") {
  CHECK(rc::check("chain row",
                  [](bool delta, bool dead, bool same_chain, uint64_t references, uint32_t checksum, const std::string& payload) {
                    ChainKey key{*record_ids(), {*record_ids(), *rc::gen::arbitrary<Stamp>()}};
                    ChainRow row{.form = delta ? ChainRow::Form::delta : ChainRow::Form::raw,
                                 .dead = dead,
                                 .references = references,
                                 .length = payload.size(),
                                 .checksum = checksum,
                                 .base = {},
                                 .payload = payload};
                    if (delta) {
                      row.base = {same_chain ? key.chain : *record_ids(), {*record_ids(), *rc::gen::arbitrary<Stamp>()}};
                      RC_PRE(row.base.content > key.content);
                      row.length = references;
                      row.choice = static_cast<dedup::Choice>(*rc::gen::inRange(0, 4));
                    }
                    const Bytes bytes = chain_row(key, row);
                    const auto parsed = parse_chain_row(bytes, key);
                    RC_ASSERT(parsed.ok());
                    const ChainRow& back = parsed.value();
                    RC_ASSERT(back.form == row.form);
                    RC_ASSERT(back.dead == dead);
                    RC_ASSERT(back.references == row.references);
                    RC_ASSERT(back.length == row.length);
                    RC_ASSERT(back.checksum == checksum);
                    RC_ASSERT(back.base == row.base);
                    RC_ASSERT(back.choice == row.choice);
                    RC_ASSERT(back.payload == payload);
                  }));
}

TEST_CASE("damaged rows are refused or read as something else, and never crash") {
  CHECK(rc::check("any bytes", [](const std::string& bytes) {
    const ChainKey key{3, {5, stamp(1'800'000'000, 2)}};
    (void)parse_record_row(bytes, 5);
    (void)parse_head_row(bytes, 5);
    (void)parse_chain_row(bytes, key);
    (void)parse_chain_key(bytes);
  }));
  const ChainKey key{3, {5, stamp(1'800'000'000, 2)}};
  const ChainRow row{.form = ChainRow::Form::delta,
                     .dead = false,
                     .references = 300,
                     .length = 90'000,
                     .checksum = 77,
                     .base = {2, {9, stamp(1'800'000'001, 1)}},
                     .payload = "instructions"};
  const Bytes whole = chain_row(key, row);
  for (size_t cut = 0; cut < whole.size() - row.payload.size(); ++cut)
    CHECK_FALSE(parse_chain_row(whole.substr(0, cut), key).ok());
  const Bytes raw = raw_row(stamp(1'800'000'000, 2), 77, "content");
  for (size_t cut = 0; cut < raw.size() - 7; ++cut) CHECK_FALSE(parse_record_row(raw.substr(0, cut), 5).ok());
}

TEST_CASE("forms and flags that are not known are refused") {
  Bytes row = raw_row(stamp(1'800'000'000, 2), 77, "content");
  row[0] = '\x41';
  CHECK(parse_record_row(row, 5).failure().code == base::ErrorCode::data_corruption_detected);
  row[0] = '\x03';
  CHECK(parse_record_row(row, 5).failure().code == base::ErrorCode::data_corruption_detected);
  const ChainKey key{3, {5, stamp(1'800'000'000, 2)}};
  row = chain_row(
      key, {.form = ChainRow::Form::raw, .dead = true, .references = 1, .length = 1, .checksum = 0, .base = {}, .payload = "x"});
  CHECK(parse_chain_row(row, key).ok());
  for (const char flag : {'\x20', '\x40', '\x80'}) {
    Bytes other = row;
    other[0] = static_cast<char>(other[0] | flag);
    CHECK(parse_chain_row(other, key).failure().code == base::ErrorCode::data_corruption_detected);
  }
}

TEST_CASE("a base that does not stand above is refused") {
  const ChainKey key{3, {5, stamp(1'800'000'000, 2)}};
  Bytes bytes = chain_row(key, {.form = ChainRow::Form::delta,
                                .dead = false,
                                .references = 0,
                                .length = 1,
                                .checksum = 0,
                                .base = {3, {6, stamp(1'800'000'000, 2)}},
                                .payload = "x"});
  CHECK(parse_chain_row(bytes, key).ok());
  const size_t distance_at = 1 + 1 + 1 + 4;
  bytes[distance_at] = '\x01';  // this is zigzag(-1): the content is based on record 4
  CHECK_FALSE(parse_chain_row(bytes, key).ok());
}
