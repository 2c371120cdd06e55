// This target parses a row of the catalog, a row of counts, and a document as an index's specification. Each is refused as an
// operation is, or written back as one that reads the same. A document follows the specification; it has keys under the index
// or is refused.
#include "base/fuzz_target.h"
#include "bson/json.h"
#include "bson/validate.h"
#include "storage/collections/catalog_rows.h"
#include "storage/contents/store_tables.h"
#include "storage/indexes/index_keys.h"

namespace {

using namespace storage;

bool check_entry(BytesView row) {
  CollectionEntry entry;
  if (base::refuses([&] { entry = decode_entry(row); })) return false;
  const auto once = encode_entry(entry);
  base::check(encode_entry(decode_entry(once.bytes())).bytes() == once.bytes());
  return true;
}

bool check_dropped(BytesView row) {
  DroppedEntry dropped;
  if (base::refuses([&] { dropped = decode_dropped(row); })) return false;
  const auto once = encode_dropped(dropped);
  base::check(encode_dropped(decode_dropped(once.bytes())).bytes() == once.bytes());
  return true;
}

bool check_counts(BytesView row) {
  const auto counts = read_counts(row);
  if (!counts) return false;
  base::check(read_counts(write_counts(*counts)) == counts);
  return true;
}

bool check_index(bson::DocumentView specification, bson::DocumentView document) {
  IndexSpec spec;
  if (base::refuses([&] { spec = parse_index_spec(specification); })) return false;
  IndexKeys keys;
  if (base::refuses([&] { index_keys(spec, document, keys); })) return true;
  base::check(keys.types.empty() || keys.types.size() == keys.keys.size());
  for (size_t i = 1; i < keys.keys.size(); ++i) base::check(keys.keys[i - 1] < keys.keys[i]);
  for (const auto& key : keys.keys) base::refuses([&] { index_key_values(spec, document, key); });
  return true;
}

bool run(BytesView input) {
  const bool entry = check_entry(input), dropped = check_dropped(input), counts = check_counts(input);
  const auto specification = bson::validate(input);
  const auto document = specification.ok() ? bson::validate(input.substr(specification.value().size())) : specification;
  const bool index = document.ok() && check_index(specification.value(), document.value());
  return entry || dropped || counts || index;
}

std::vector<Bytes> seeds() {
  CollectionEntry entry{.id = 7, .ns = "db.c", .uuid = Bytes(16, 'u'), .options = {}, .indexes = {}, .next_index = 3};
  entry.options.document = bson::json("{capped: true, size: 4096}");
  entry.options.capped = true;
  entry.options.capped_bytes = 4096;
  entry.indexes.push_back({1, bson::json("{v: 2, key: {_id: 1}, name: '_id_'}"), true, 5});
  return {encode_entry(entry).bytes(), encode_dropped({.dropped = 9, .entry = entry}).bytes(),
          write_counts({.records = 5, .logical_bytes = 700, .dead = -1}),
          bson::json("{v: 2, key: {a: 1, 'b.c': -1}, name: 'n', unique: true, sparse: true}").bytes() +
              bson::json("{a: [1, 'x', {}], b: {c: null}}").bytes(),
          bson::json("{key: {a: 1}, name: 'ttl', expireAfterSeconds: 60, partialFilterExpression: {a: {$gt: 1}}}").bytes() +
              bson::json("{a: [[], [1], 5]}").bytes()};
}

const base::FuzzTarget target("catalog_rows", run, seeds);

}  // namespace
