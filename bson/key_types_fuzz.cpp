// The input is a key string and the types beside it, as an index entry has them; `descending` has a bit for each value. A key
// that can be read gives a valid document, and the key of its values reads the same. An _id can be read from its key alone,
// and its key under a collation be made of that.
#include "base/fuzz_target.h"
#include "bson/collation.h"
#include "bson/json.h"
#include "bson/key_collation.h"
#include "bson/key_id.h"
#include "bson/key_types.h"
#include "bson/keystring.h"
#include "bson/validate.h"

namespace {

using bson::Bytes;
using bson::BytesView;

constexpr int values_max = 8;

// Values that are there, named by their order. nullopt: damaged.
std::optional<bson::Document> read(BytesView key, BytesView types, uint64_t descending, int values) {
  bson::KeyReader reader(key, types);
  bson::Builder out;
  char name = 'a';
  for (int i = 0; i < values && reader.ok() && reader.read() < key.size(); ++i) {
    const bool is_missing = reader.next(descending >> i & 1, std::string(1, name), out).has_value();
    if (!is_missing) ++name;
  }
  if (!reader.ok() || reader.read() != key.size()) return std::nullopt;
  return out.done();
}

void check_reads_back(const bson::Document& document) {
  bson::KeyString key;
  bson::KeyTypes types;
  int values = 0;
  for (const auto& field : document.view()) {
    key.append(field);
    types.add(field);
    ++values;
  }
  const Bytes packed = types.take();
  if (!bson::has_values(packed)) return;
  const auto back = read(key.bytes(), packed, 0, values);
  base::check(back && back->bytes() == document.bytes(), "a key and its types give back its values");
}

bool run(BytesView input) {
  base::FuzzReader reader(input);
  const uint64_t descending = reader.number();
  const BytesView types = reader.part();
  const BytesView key = reader.rest();
  const auto document = read(key, types, descending, values_max);
  if (document) {
    base::check(bson::validate(document->bytes(), {.bytes_max = size_t{1} << 30, .depth_max = 256}).ok());
    check_reads_back(*document);
  }
  const auto id = bson::id_of_key(key);
  if (id) base::check(bson::KeyString().append(id->view().first()).bytes() == key, "an _id has the key that it was decoded from");
  static const bson::CollatorPtr collator = bson::collator_of(bson::json("{locale: 'en', strength: 2}"));
  const auto collated = bson::collated_key(key, *collator);
  if (id) {
    base::check(collated == bson::KeyString().append(id->view().first(), false, collator.get()).bytes(),
                "a key becomes the one that its value has under a collation");
  }
  return document || id || collated;
}

Bytes seed(const char* json, uint64_t descending) {
  const auto document = bson::json(json);
  bson::KeyString key;
  bson::KeyTypes types;
  int i = 0;
  for (const auto& field : document.view()) {
    key.append(field, descending >> i++ & 1);
    types.add(field);
  }
  return base::FuzzWriter().number(descending).part(types.take()).rest(key.bytes());
}

std::vector<Bytes> seeds() {
  return {seed("{a: 1}", 0), seed("{a: 'text', b: 5.0, c: NumberLong(5), d: null}", 2),
          seed("{a: ObjectId('65a0c0ffee65a0c0ffee65a0')}", 0), seed("{a: {b: [1.5, -7, {c: true}], d: BinData(0, 'aGk=')}}", 1),
          seed("{a: ISODate('2024-01-01T00:00:00Z'), b: Timestamp(1, 2), c: /x/i, d: MinKey, e: -300, f: 1e300}", 5)};
}

const base::FuzzTarget target("key_types", run, seeds);

}  // namespace
