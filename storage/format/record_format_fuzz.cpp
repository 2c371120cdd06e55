// This target reads rows of the record tables and the chain table. They are refused as damaged data, or written back as rows that
// read the same.
//
//   number: the record, of a row's key; and the chain | number: its generation | rest: the row, or a key of the chain table
#include <algorithm>

#include "base/fuzz_target.h"
#include "storage/format/record_format.h"

namespace {

using namespace storage;

// Writes a row again, so that two parsed rows can be compared as bytes: there is only one way to write a row.
Bytes written(const RecordRow& row, RecordId record) {
  if (row.form == RecordRow::Form::raw) return raw_row(row.generation, row.checksum, row.content, row.past);
  return stub_row(record, row.generation, row.chain, row.past);
}

bool check_record_row(BytesView row, RecordId record) {
  const auto parsed = parse_record_row(row, record);
  if (!parsed.ok()) return false;
  const Bytes once = written(parsed.value(), record);
  const auto again = parse_record_row(once, record);
  base::check(again.ok() && written(again.value(), record) == once && again.value().content == parsed.value().content);
  return true;
}

bool check_head_row(BytesView row, RecordId record) {
  const auto parsed = parse_head_row(row, record);
  if (!parsed.ok()) return false;
  const auto again = parse_head_row(head_row(record, parsed.value()), record);
  base::check(again.ok() && again.value().chain == parsed.value().chain && again.value().ordinal == parsed.value().ordinal &&
              again.value().references == parsed.value().references);
  return true;
}

bool check_chain_row(BytesView row, const ChainKey& key) {
  const auto parsed = parse_chain_row(row, key);
  if (!parsed.ok()) return false;
  base::check(parsed.value().form == ChainRow::Form::raw || parsed.value().base.content > key.content, "chains end");
  const Bytes once = chain_row(key, parsed.value());
  const auto again = parse_chain_row(once, key);
  base::check(again.ok() && chain_row(key, again.value()) == once && again.value().payload == parsed.value().payload);
  return true;
}

bool check_chain_key(BytesView key) {
  const auto parsed = parse_chain_key(key);
  if (!parsed.ok()) return false;
  base::check(chain_key(parsed.value()) == key, "one name, one key");
  return true;
}

bool run(BytesView input) {
  base::FuzzReader reader(input);
  const auto record = static_cast<RecordId>(std::max<uint64_t>(reader.number() & INT64_MAX, record_id_min));
  const Stamp generation = reader.number();
  const BytesView row = reader.rest();
  const bool of_record = check_record_row(row, record), of_head = check_head_row(row, record);
  const bool of_chain = check_chain_row(row, {record, {record, generation}}), key = check_chain_key(row);
  return of_record || of_head || of_chain || key;
}

std::vector<Bytes> seeds() {
  constexpr RecordId record = 17;
  constexpr Stamp generation = Stamp{1'710'000'000} << 32 | 3;
  const ChainKey key{record, {record, generation}}, near{record, {19, generation + 5}},
      far{40, {41, generation + (Stamp{9} << 32)}};
  const auto seed = [&](const Bytes& row) { return base::FuzzWriter().number(record).number(generation).rest(row); };
  return {seed(raw_row(generation, 5, "content")),
          seed(raw_row(generation, 5, "content", {.pre_states = "pre-states", .behind = true})),
          seed(stub_row(record, generation, 12)),
          seed(head_row(record, {.chain = 12, .ordinal = 3, .references = 2})),
          seed(chain_key(key)),
          seed(chain_row(key, {.form = ChainRow::Form::delta,
                               .references = 1,
                               .length = 30,
                               .checksum = 4,
                               .base = near,
                               .payload = "instructions"})),
          seed(chain_row(key, {.form = ChainRow::Form::delta,
                               .dead = true,
                               .kept = true,
                               .length = 30,
                               .base = far,
                               .choice = dedup::Choice::cached,
                               .payload = "i"})),
          seed(chain_row(
              key, {.dead = true, .kept = true, .length = 7, .base = {}, .pre_states = "pre-states", .payload = "content"}))};
}

const base::FuzzTarget target("record_format", run, seeds);

}  // namespace
