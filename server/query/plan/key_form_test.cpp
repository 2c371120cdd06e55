// Property tests: what an index with a collation, or of hashes, says about a query is true of its keys.
#include <catch2/catch.hpp>
#include <memory>
#include <random>

#include "bson/builder.h"
#include "bson/collation.h"
#include "bson/json.h"
#include "server/core/allowance.h"
#include "server/query/matcher.h"
#include "server/query/plan/access.h"
#include "storage/indexes/index_keys.h"

namespace server::query::plan {
namespace {

using bson::Value;

OperationContext* const nobody = nullptr;
Allowance unlimited(nobody, nullptr);

// An index without a table: the planner looks at its specification alone.
class IndexOfKeys final : public storage::Index {
 public:
  explicit IndexOfKeys(bson::DocumentView spec) { spec_ = storage::parse_index_spec(spec); }

  bool multikey() const override { return multikey_fields_ != 0; }
  bool multikey_field(size_t i) const override { return multikey_fields_ >> i & 1; }
  bool is_id() const override { return false; }
  bool ready() const override { return true; }
  storage::IndexStats stats() const override { return {}; }
  void count_access() const override {}
  const storage::DocumentPredicate* partial_predicate() const override { return nullptr; }

  storage::IndexKeys add(bson::DocumentView document) {
    storage::IndexKeys keys;
    storage::index_keys(spec_, document, keys);
    multikey_fields_ |= keys.multikey_fields;
    return keys;
  }

 private:
  uint32_t multikey_fields_ = 0;
};

class Choices {
 public:
  explicit Choices(uint64_t seed) : random_(seed) {}

  size_t below(size_t count) { return random_() % count; }

  Value value(bool arrays, int depth = 2) {
    static const std::string words[] = {"a", "A", "á", "b", "B", "ab", "a b", "10", "9", "", "ss", "ß"};
    switch (below(depth > 0 ? 10 : 8)) {
      case 0: return Value(static_cast<int32_t>(below(3)));
      case 1: return Value(below(2) ? 1.5 : 2.0);
      case 2: return Value::null();
      case 8: {
        bson::Builder out;
        for (size_t left = below(3); left > 0; --left) out.append(below(2) ? "x" : "y", value(arrays, depth - 1));
        return Value(out.done());
      }
      case 9: {
        if (!arrays) return Value(true);
        bson::ArrayBuilder out;
        for (size_t left = below(3); left > 0; --left) out.append(value(arrays, depth - 1));
        return out.done_value();
      }
      default: return Value(words[below(std::size(words))]);
    }
  }

  bson::Document document(bool arrays) {
    bson::Builder out;
    for (const char* name : {"a", "b"}) {
      if (below(8) > 0) out.append(name, value(arrays));
    }
    return out.done();
  }

  bson::Document filter() {
    bson::Builder out;
    append_predicate(out, "a");
    if (below(2)) append_predicate(out, "b");
    bson::Document simple = out.done();
    if (below(5) > 0) return simple;
    bson::Builder either;
    {
      auto branches = either.array("$or");
      branches.append(simple.view());
      bson::Builder other;
      append_predicate(other, "a");
      branches.append(other.done().view());
    }
    return either.done();
  }

 private:
  void append_predicate(bson::Builder& out, const char* path) {
    static const char* const operators[] = {"$eq", "$eq",  "$ne",    "$gt",     "$gte",  "$lt",       "$lte",
                                            "$in", "$nin", "$regex", "$exists", "$type", "$elemMatch"};
    const std::string name = operators[below(std::size(operators))];
    auto condition = out.object(path);
    if (name == "$in" || name == "$nin") {
      auto list = condition.array(name);
      for (size_t left = below(4); left > 0; --left) list.append(value(true));
    } else if (name == "$regex") {
      condition.append(name, below(2) ? "^a" : "b$");
    } else if (name == "$exists") {
      condition.append(name, below(2) == 0);
    } else if (name == "$type") {
      condition.append(name, below(2) ? "string" : "object");
    } else if (name == "$elemMatch") {
      auto inner = condition.object(name);
      inner.append("$gte", value(false, 0));
    } else {
      condition.append(name, value(name == "$eq" || name == "$ne"));
    }
  }

  std::mt19937_64 random_;
};

bool lies_within(const Access& access, const storage::IndexKeys& keys) {
  for (const bson::Bytes& key : keys.keys) {
    // Entries have a record id behind the key.
    const bson::Bytes entry = key + bson::Bytes(8, '\x01');
    for (const storage::KeyRange& range : access.ranges) {
      if (entry >= range.from && (range.to.empty() || entry < range.to)) return true;
    }
  }
  return false;
}

constexpr const char* collations[] = {"{locale: 'simple'}", "{locale: 'en', strength: 1}", "{locale: 'en', strength: 2}",
                                      "{locale: 'en', numericOrdering: true}",
                                      "{locale: 'en', alternate: 'shifted', strength: 1}"};

struct Row {
  bson::Document document;
  storage::IndexKeys keys;
};

void check_index(const std::string& key, const char* index_collation, bool arrays, uint64_t seed) {
  Choices choose(seed);
  IndexOfKeys& index = *new IndexOfKeys(bson::json("{key: " + key + ", name: 'k', collation: " + index_collation + "}"));
  const std::shared_ptr<const storage::Index> shared(&index);
  std::vector<Row> rows;
  for (int i = 0; i < 60; ++i) {
    Row row{choose.document(arrays), {}};
    // Two arrays in one document can't be indexed.
    try {
      row.keys = index.add(row.document);
    } catch (const base::OperationError& error) {
      REQUIRE(static_cast<int>(error.code()) == 171);
      continue;
    }
    rows.push_back(std::move(row));
  }
  for (int i = 0; i < 150; ++i) {
    ParseContext context;
    context.collator = bson::collator_of(bson::json(collations[choose.below(std::size(collations))]));
    const bson::Document filter = choose.filter();
    const auto matcher = Matcher::parse(filter, context);
    const Access access = index_access(shared, flatten(matcher->root()), unlimited);
    for (const Row& row : rows) {
      const bool matches = matcher->matches(row.document), found = lies_within(access, row.keys);
      INFO(key << " " << index_collation << ": " << bson::to_json(filter) << " by "
               << (context.collator ? bson::to_json(context.collator->specification()) : "bytes") << " over "
               << bson::to_json(row.document));
      if (matches) REQUIRE(found);
      if (!found) continue;
      // The bounds may prove only a part of the filter; the rest is still to be checked.
      bool rest = true;
      for (const match::Node* node : access.residual) rest = rest && node->matches(row.document, nullptr);
      REQUIRE(rest == matches);
    }
  }
}

}  // namespace

TEST_CASE("bounds over an index of any collation contain every match, and prove what they say") {
  uint64_t seed = 1;
  for (const char* collation : collations) {
    for (const char* key : {"{a: 1}", "{a: -1}", "{a: 1, b: 1}", "{a: 1, b: -1}", "{b: 1, a: 1}"}) {
      for (const bool arrays : {false, true}) check_index(key, collation, arrays, ++seed);
    }
  }
}

TEST_CASE("bounds over hashes contain every match") {
  uint64_t seed = 1000;
  for (const char* collation : collations) {
    for (const char* key : {"{a: 'hashed'}", "{a: 'hashed', b: 1}", "{b: -1, a: 'hashed'}"})
      check_index(key, collation, false, ++seed);
  }
}

TEST_CASE("a hashed field holds no array") {
  IndexOfKeys index(bson::json("{key: {'a.b': 'hashed', c: 1}, name: 'k'}"));
  for (const char* document : {"{a: {b: [1]}}", "{a: [{b: 1}]}", "{a: {b: []}}"}) {
    try {
      index.add(bson::json(document));
      FAIL("it is refused");
    } catch (const base::OperationError& error) {
      CHECK(static_cast<int>(error.code()) == 16766);
    }
  }
  CHECK(index.add(bson::json("{a: {b: 1}, c: [1, 2]}")).keys.size() == 2);
}

TEST_CASE("an index gives the order of a sort of the same collation, or of values without strings") {
  const auto gives = [](const char* index_collation, const char* sort_collation, const char* filter, const char* sort) {
    const auto index = std::make_shared<IndexOfKeys>(
        bson::json(std::string("{key: {a: 1, b: 1}, name: 'k', collation: ") + index_collation + "}"));
    ParseContext context;
    context.collator = bson::collator_of(bson::json(sort_collation));
    const auto matcher = Matcher::parse(bson::json(filter), context);
    const Access access = index_access(index, flatten(matcher->root()), unlimited);
    storage::Direction direction;
    return provides_sort(access, SortPattern::parse(bson::json(sort), context.collator), direction);
  };
  const char *en = "{locale: 'en'}", *fr = "{locale: 'fr'}", *simple = "{locale: 'simple'}";
  CHECK(gives(en, en, "{}", "{a: 1}"));
  CHECK_FALSE(gives(en, fr, "{}", "{a: 1}"));
  CHECK_FALSE(gives(en, simple, "{}", "{a: 1}"));
  CHECK_FALSE(gives(simple, en, "{}", "{a: 1}"));
  CHECK(gives(en, fr, "{a: {$gt: 5}}", "{a: 1}"));
  CHECK(gives(en, en, "{a: 'x'}", "{b: 1}"));
  CHECK_FALSE(gives(en, fr, "{a: 'x'}", "{b: 1}"));
  CHECK_FALSE(gives(en, fr, "{a: 5}", "{b: 1}"));
  CHECK(gives(en, fr, "{a: 5, b: {$gte: 7}}", "{b: 1}"));
}

}  // namespace server::query::plan
