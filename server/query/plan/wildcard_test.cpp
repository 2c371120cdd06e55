// Property tests: the scans of a wildcard index contain every match, and prove what they say. The documents have arrays, arrays
// within arrays, numbers as names, and names with dots; the queries have positions.
#include <catch2/catch.hpp>
#include <random>
#include <set>

#include "bson/builder.h"
#include "bson/collation.h"
#include "bson/json.h"
#include "server/core/allowance.h"
#include "server/query/matcher.h"
#include "server/query/plan/wildcard.h"
#include "storage/indexes/index_keys.h"

namespace server::query::plan {
namespace {

using bson::Value;

OperationContext* const nobody = nullptr;
Allowance unlimited(nobody, nullptr);

// An index without a table: the planner looks at its specification, and at where there are arrays.
class WildcardOfKeys final : public storage::Index {
 public:
  explicit WildcardOfKeys(bson::DocumentView spec) { spec_ = storage::parse_index_spec(spec); }

  bool multikey() const override { return !arrays_.empty(); }
  bool multikey_field(size_t) const override { return multikey(); }
  bool multikey_path(std::string_view path) const override { return arrays_.contains(path); }
  bool is_id() const override { return false; }
  bool ready() const override { return true; }
  storage::IndexStats stats() const override { return {}; }
  void count_access() const override {}
  const storage::DocumentPredicate* partial_predicate() const override { return nullptr; }

  storage::IndexKeys add(bson::DocumentView document) {
    storage::IndexKeys keys;
    storage::index_keys(spec_, document, keys);
    arrays_.insert(keys.multikey_paths.begin(), keys.multikey_paths.end());
    return keys;
  }

 private:
  std::set<std::string, std::less<>> arrays_;
};

class Choices {
 public:
  explicit Choices(uint64_t seed) : random_(seed) {}

  size_t below(size_t count) { return random_() % count; }
  template <size_t N>
  std::string one_of(const char* const (&words)[N]) {
    return words[below(N)];
  }

  Value scalar() {
    switch (below(7)) {
      case 0: return Value::null();
      case 1: return Value(below(2) ? "x" : "X");
      case 2: return Value(1.5);
      case 3: return Value(bson::ValueView(below(2) ? bson::Type::min_key : bson::Type::max_key, {}));
      default: return Value(static_cast<int32_t>(below(3)));
    }
  }

  // `arrays`: in ten values so many are arrays.
  Value value(size_t arrays, int depth) {
    const size_t kind = below(10);
    if (depth == 0 || kind >= arrays + 4) return scalar();
    if (kind < arrays) {
      bson::ArrayBuilder out;
      for (size_t left = below(4); left > 0; --left) out.append(value(arrays, depth - 1));
      return out.done_value();
    }
    return Value(object(arrays, depth - 1));
  }

  bson::Document object(size_t arrays, int depth) {
    static const char* const names[] = {"a", "b", "0", "1", "", "a.b"};
    bson::Builder out;
    std::set<std::string> taken;
    for (size_t left = below(4); left > 0; --left) {
      const std::string name = below(4) ? one_of({"a", "b"}) : names[below(std::size(names))];
      if (taken.insert(name).second) out.append(name, value(arrays, depth));
    }
    return out.done();
  }

  bson::Document document(size_t arrays) {
    bson::Builder out;
    out.append("_id", static_cast<int32_t>(below(5)));
    for (const char* name : {"a", "b", "c"}) {
      if (below(4)) out.append(name, name == std::string("c") ? scalar() : value(arrays, 4));
    }
    return out.done();
  }

  std::string path() {
    std::string path = one_of({"a", "a", "b", "c", "_id"});
    for (size_t left = below(3); left > 0; --left) path += "." + one_of({"a", "b", "b", "0", "1"});
    return path;
  }

  bson::Document filter() {
    bson::Builder out;
    std::set<std::string> taken;
    for (size_t left = 1 + below(2); left > 0; --left) {
      const std::string where = path();
      if (taken.insert(where).second) predicate(out, where, 2);
    }
    bson::Document simple = out.done();
    if (below(6)) return simple;
    bson::Builder either;
    {
      auto branches = either.array("$or");
      const std::string where = path();
      for (int i = 0; i < 2; ++i) {
        bson::Builder branch;
        predicate(branch, where, 1);
        branches.append(branch.done().view());
      }
    }
    return either.done();
  }

 private:
  void predicate(bson::Builder& out, const std::string& path, int depth) {
    auto condition = out.object(path);
    std::set<std::string> taken;
    for (size_t left = 1 + below(2); left > 0; --left) add_operator(condition, taken, depth);
  }

  void add_operator(bson::Builder& condition, std::set<std::string>& taken, int depth) {
    const std::string name = one_of({"$eq", "$eq", "$gt", "$gte", "$lt", "$lte", "$in", "$ne", "$nin", "$exists", "$type",
                                     "$size", "$regex", "$mod", "$all", "$elemMatch", "$elemMatch"});
    if (!taken.insert(name).second) return;
    if (name == "$in" || name == "$nin" || name == "$all") {
      auto list = condition.array(name);
      for (size_t left = below(3); left > 0; --left) list.append(value(1, 2));
    } else if (name == "$exists") {
      condition.append(name, below(4) > 0);
    } else if (name == "$type") {
      condition.append(name, one_of({"string", "object", "array", "number", "null", "undefined", "minKey"}));
    } else if (name == "$size") {
      condition.append(name, 1);
    } else if (name == "$regex") {
      condition.append(name, "^x");
    } else if (name == "$mod") {
      auto operands = condition.array(name);
      operands.append(Value(2)).append(Value(0));
    } else if (name == "$elemMatch") {
      auto inner = condition.object(name);
      if (depth > 0 && below(2)) {
        predicate(inner, one_of({"a", "b", "0", "b.a", "0.b"}), depth - 1);
      } else {
        std::set<std::string> inside;
        add_operator(inner, inside, 0);
      }
    } else {
      condition.append(name, value(1, 2));
    }
  }

  std::mt19937_64 random_;
};

bool lies_within(const Access& access, const storage::IndexKeys& keys) {
  for (const bson::Bytes& key : keys.keys) {
    const bson::Bytes entry = key + bson::Bytes(8, '\x01');
    for (const storage::KeyRange& range : access.ranges) {
      if (entry >= range.from && (range.to.empty() || entry < range.to)) return true;
    }
  }
  return false;
}

struct Row {
  bson::Document document;
  storage::IndexKeys keys;
};

// Returns how many scans there were.
size_t check_index(const std::string& options, size_t arrays, uint64_t seed) {
  Choices choose(seed);
  const auto index = std::make_shared<WildcardOfKeys>(bson::json("{name: 'w', " + options + "}"));
  std::vector<Row> rows;
  for (int i = 0; i < 60; ++i) {
    Row row{choose.document(arrays), {}};
    row.keys = index->add(row.document);
    rows.push_back(std::move(row));
  }
  size_t scans = 0;
  for (int i = 0; i < 200; ++i) {
    ParseContext context;
    context.collator = bson::collator_of(bson::json(choose.below(2) ? "{locale: 'simple'}" : "{locale: 'en', strength: 2}"));
    const bson::Document filter = choose.filter();
    std::unique_ptr<Matcher> matcher;
    try {
      matcher = Matcher::parse(filter, context);
    } catch (const base::OperationError&) {
      continue;  // $elemMatch and $all take not every operand
    }
    for (const Access& access : wildcard_scans(index, flatten(matcher->root()), unlimited)) {
      ++scans;
      for (const Row& row : rows) {
        const bool matches = matcher->matches(row.document), found = lies_within(access, row.keys);
        INFO(options << ": " << bson::to_json(filter) << " over " << bson::to_json(row.document) << " by "
                     << bson::to_json(access.index->spec().key));
        if (matches) REQUIRE(found);
        if (!found) continue;
        bool rest = true;
        for (const match::Node* node : access.residual) rest = rest && node->matches(row.document, nullptr);
        REQUIRE(rest == matches);
      }
    }
  }
  return scans;
}

std::vector<Access> scans(const WildcardOfKeys& index, const Matcher& matcher) {
  return wildcard_scans({std::shared_ptr<void>(), &index}, flatten(matcher.root()), unlimited);
}

// Returns the bounds of the only scan for the filter; an empty text: there is none.
std::string bounds(const WildcardOfKeys& index, const std::string& filter) {
  const auto matcher = Matcher::parse(bson::json(filter), {});
  const std::vector<Access> found = scans(index, *matcher);
  REQUIRE(found.size() < 2);
  std::string text;
  for (const Access& access : found) {
    for (size_t i = 0; i < access.fields.size(); ++i) {
      text += (i > 0 ? ", " : "") + access.index->spec().fields[i].path + ":";
      for (const Interval& interval : access.fields[i]) text += " " + interval.show();
    }
  }
  return text;
}

}  // namespace

TEST_CASE("scans of a wildcard index contain every match, and prove what they say") {
  static const char* const indexes[] = {
      "key: {'$**': 1}",
      "key: {'$**': -1}",
      "key: {'$**': 1}, collation: {locale: 'en', strength: 2}",
      "key: {'a.$**': 1}",
      "key: {'a.b.$**': 1}",
      "key: {'$**': 1}, wildcardProjection: {_id: 1, a: 0}",
      "key: {'$**': 1}, wildcardProjection: {'a.b': 0, 'b.a': 0}",
      "key: {'$**': 1}, wildcardProjection: {'a.b': 1, b: 1}",
      "key: {'$**': 1}, wildcardProjection: {'a.0': 1, b: 1}",
      "key: {c: 1, 'a.$**': 1}",
      "key: {'a.$**': -1, c: 1}",
      "key: {c: -1, '$**': 1, _id: 1}, wildcardProjection: {_id: 0, c: 0}",
  };
  uint64_t seed = 1;
  size_t scans = 0;
  for (const char* index : indexes) {
    for (const size_t arrays : {0, 1, 4}) {
      for (int round = 0; round < 4; ++round) scans += check_index(index, arrays, ++seed);
    }
  }
  CHECK(scans > 5000);
}

TEST_CASE("bounds of a wildcard index have the path and the values") {
  WildcardOfKeys index(bson::json("{key: {'$**': 1}, name: 'w'}"));
  index.add(bson::json("{a: 1, m: [{n: 1}]}"));
  CHECK(bounds(index, "{a: 5}") == "$_path: [\"a\", \"a\"], a: [5, 5]");
  CHECK(bounds(index, "{a: {$gt: 5, $lte: 7}}") == "$_path: [\"a\", \"a\"], a: (5, 7]");
  CHECK(bounds(index, "{'a.b': {$in: [1, 'x']}}") == "$_path: [\"a.b\", \"a.b\"], a.b: [1, 1] [\"x\", \"x\"]");
  CHECK(bounds(index, "{a: {$exists: true}}") == "$_path: [\"a\", \"a\"] [\"a.\", \"a/\"), a: [MinKey, MaxKey]");
  CHECK(bounds(index, "{a: {$ne: null}}") == "$_path: [\"a\", \"a\"] [\"a.\", \"a/\"), a: [MinKey, MaxKey]");
  CHECK(bounds(index, "{a: {$eq: null, $exists: true}}") == "$_path: [\"a\", \"a\"] [\"a.\", \"a/\"), a: [MinKey, MaxKey]");
  CHECK(bounds(index, "{a: []}") == "$_path: [\"a\", \"a\"], a: [undefined, undefined] [[], []]");
  CHECK(bounds(index, "{a: {}}") == "$_path: [\"a\", \"a\"], a: [{}, {}]");
  CHECK(bounds(index, "{m: {$elemMatch: {n: 1}}}") == "$_path: [\"m.n\", \"m.n\"], m.n: [1, 1]");
  for (const char* filter :
       {"{}", "{a: null}", "{a: {$exists: false}}", "{a: {b: 1}}", "{a: [1]}", "{a: {$gt: {}}}", "{a: {$gte: null}}",
        "{a: {$in: [1, null]}}", "{a: {$in: [1, {b: 1}]}}", "{a: {$ne: 1}}", "{a: {$nin: [1]}}", "{a: {$not: {$gt: 1}}}",
        "{m: {$ne: null}}", "{a: {$type: 'object'}}", "{a: {$size: 1}}", "{_id: 1}", "{$nor: [{a: 1}]}"})
    CHECK(bounds(index, filter).empty());
}

TEST_CASE("a number in a path is a name, and a position where there are arrays") {
  WildcardOfKeys index(bson::json("{key: {'$**': 1}, name: 'w'}"));
  index.add(bson::json("{a: {'0': 1}, m: [{n: 1}]}"));
  CHECK(bounds(index, "{'a.0': 5}") == "$_path: [\"a.0\", \"a.0\"], a.0: [5, 5]");
  CHECK(bounds(index, "{'a.0.1': 5}") == "$_path: [\"a.0.1\", \"a.0.1\"], a.0.1: [5, 5]");
  CHECK(bounds(index, "{'m.0.n': 5}") ==
        "$_path: [\"m\", \"m\"] [\"m.0.n\", \"m.0.n\"] [\"m.n\", \"m.n\"], m.0.n: [5, 5] [[], BinData(0, ))");
  CHECK(bounds(index, "{'m.0.1': 5}").empty());
  std::string nested = "1", path = "x";
  for (int i = 0; i < 9; ++i) nested = "[{x: " + nested + "}]";
  index.add(bson::json("{x: " + nested + "}"));
  for (int i = 0; i < 8; ++i) path += ".0.x";
  CHECK_FALSE(bounds(index, "{'" + path + "': 1}").empty());
  CHECK(bounds(index, "{'" + path + ".0.x': 1}").empty());
}

TEST_CASE("a compound index serves its leading fields alone, too") {
  WildcardOfKeys index(bson::json("{key: {a: 1, 'b.$**': 1, c: 1}, name: 'w'}"));
  index.add(bson::json("{a: 1, b: {d: 1}, c: 1}"));
  CHECK(bounds(index, "{a: 1}") == "a: [1, 1], $_path: [MinKey, MinKey] [\"\", {}), c: [MinKey, MaxKey]");
  CHECK(bounds(index, "{'b.d': 1}").empty());
  CHECK(bounds(index, "{c: 1}").empty());
  const auto matcher = Matcher::parse(bson::json("{a: 1, 'b.d': {$gt: 2}, c: 3}"), {});
  const std::vector<Access> found = scans(index, *matcher);
  REQUIRE(found.size() == 2);
  CHECK(bson::to_shell(found[0].index->spec().key) == "{ a: 1, $_path: 1, b.d: 1, c: 1 }");
  CHECK(bson::to_shell(found[1].index->spec().key) == "{ a: 1, $_path: 1, c: 1 }");
}

}  // namespace server::query::plan
