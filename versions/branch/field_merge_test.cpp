#include "versions/branch/field_merge.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <set>

#include "base/cpu_time.h"
#include "base/random.h"
#include "bson/builder.h"
#include "bson/json.h"

using namespace versions;
using base::least_cpu_seconds;

namespace {

constexpr MergeMode all_modes[] = {MergeMode::document_touched, MergeMode::field_touched, MergeMode::field_divergent,
                                   MergeMode::document_divergent};
constexpr MergeMode touched = MergeMode::field_touched, divergent = MergeMode::field_divergent;

// "-" stands for a side without the document.
std::optional<Bytes> side(const char* text) {
  return std::string_view(text) == "-" ? std::nullopt : std::optional(bson::json(text).bytes());
}

std::string merged(const char* base, const char* ours, const char* theirs, MergeRules rules = {.mode = divergent}) {
  const auto b = side(base), o = side(ours), t = side(theirs);
  const Resolution resolution = merge_documents({b, o, t}, rules);
  const auto text = [](const std::optional<Bytes>& document) {
    return document ? bson::to_json(bson::DocumentView(*document)) : std::string("-");
  };
  switch (resolution.kind) {
    case Resolution::Kind::ours: return text(o);
    case Resolution::Kind::theirs: return text(t);
    case Resolution::Kind::written: return text(resolution.document);
    case Resolution::Kind::conflict: break;
  }
  std::string paths = "conflict";
  for (const std::string& path : resolution.paths) paths += " " + path;
  return paths;
}
std::string json(const char* text) {
  return bson::to_json(bson::json(text));
}

PathRules rule(const char* path, PathRule::Kind kind, const char* key = "") {
  return {{path, {kind, key}}};
}

}  // namespace

TEST_CASE("fields that one side changed are taken from it, in either mode of fields") {
  for (const MergeMode mode : {touched, divergent}) {
    CHECK(merged("{a: 1, b: 1}", "{a: 2, b: 1}", "{a: 1, b: 2}", {.mode = mode}) == json("{a: 2, b: 2}"));
    CHECK(merged("{a: 1, b: 1}", "{a: 1}", "{a: 2, b: 1}", {.mode = mode}) == json("{a: 2}"));
    CHECK(merged("{a: 1}", "{a: 1, c: 1}", "{a: 1, d: 1}", {.mode = mode}) == json("{a: 1, c: 1, d: 1}"));
    CHECK(merged("{o: {x: 1, y: 1}}", "{o: {x: 2, y: 1}}", "{o: {x: 1, y: 2}}", {.mode = mode}) == json("{o: {x: 2, y: 2}}"));
    CHECK(merged("-", "{_id: 1, a: 1}", "{_id: 1, b: 1}", {.mode = mode}) == json("{_id: 1, a: 1, b: 1}"));
  }
}

TEST_CASE("arrays of many elements are united in less time than all their pairs take") {
  constexpr int count = 200'000;
  const auto numbers = [](int from, int to) {
    bson::Builder out;
    out.append("_id", 1);
    {
      auto all = out.array("n");
      for (int i = from; i < to; ++i) all.append(i);
    }
    return out.done();
  };
  const bson::Document base = numbers(count / 4, count), ours = numbers(0, count), theirs = numbers(count / 2, count * 5 / 4);
  const Resolution resolution = merge_documents({base.bytes(), ours.bytes(), theirs.bytes()},
                                                {.mode = divergent, .paths = rule("n", PathRule::Kind::union_)});
  REQUIRE(resolution.kind == Resolution::Kind::written);
  int expected = 0, found = 0;
  for (const bson::Element& one : bson::DocumentView(resolution.document).find("n").as_document()) {
    if (expected == count / 4) expected = count / 2;  // theirs removed the second quarter
    found += one.as_int32() == expected++;
  }
  CHECK(found == count);
}

TEST_CASE("what both changed to the same is no conflict, what they changed differently is") {
  CHECK(merged("{a: 1, b: 1}", "{a: 2, b: 1}", "{a: 2, b: 2}") == json("{a: 2, b: 2}"));
  CHECK(merged("{a: 1}", "{}", "{}") == json("{}"));
  CHECK(merged("{a: 1}", "{a: 2}", "{a: 3}") == "conflict a");
  CHECK(merged("{a: 1}", "{}", "{a: 3}") == "conflict a");
  CHECK(merged("{a: [1]}", "{a: [1, 2]}", "{a: [1, 3]}") == "conflict a");
  CHECK(merged("{o: {x: 1, y: {z: 1}}}", "{o: {x: 2, y: {z: 2}}}", "{o: {x: 3, y: {z: 3}}}") == "conflict o.x o.y.z");
  CHECK(merged("{a: 1, b: 1}", "{a: 2, b: 1}", "{a: 3, b: 2}", {.mode = divergent, .prefer = Prefer::ours}) ==
        json("{a: 2, b: 2}"));
  CHECK(merged("{a: 1, b: 1}", "{a: 2, b: 1}", "{a: 3, b: 2}", {.mode = divergent, .prefer = Prefer::theirs}) ==
        json("{a: 3, b: 2}"));
  CHECK(merged("{a: 1}", "{}", "{a: 3}", {.mode = divergent, .prefer = Prefer::ours}) == json("{}"));
}

TEST_CASE("a field that both changed is a conflict where it was touched, whatever they made of it") {
  CHECK(merged("{n: 5, b: 1}", "{n: 4, b: 1}", "{n: 4, b: 2}", {}) == "conflict n");
  CHECK(merged("{n: 5}", "{n: 4}", "{n: 4}", {}) == json("{n: 4}"));  // equal documents are no conflict
  CHECK(merged("{n: 5, b: 1}", "{n: 5, b: 2}", "{n: 4, b: 1}", {.mode = MergeMode::document_divergent}) == "conflict");
  CHECK(merged("{n: 5}", "{n: 4}", "{n: 4}", {.mode = MergeMode::document_divergent}) == json("{n: 4}"));
  CHECK(merged("{n: 5}", "{n: 4}", "{n: 4}", {.mode = MergeMode::document_touched}) == "conflict");
}

TEST_CASE("a document gone on one side and changed on the other is a conflict in every mode, gone on both in none") {
  for (const MergeMode mode : all_modes) {
    CHECK(merged("{a: 1}", "-", "{a: 2}", {.mode = mode}) == "conflict");
    CHECK(merged("{a: 1}", "{a: 2}", "-", {.mode = mode}) == "conflict");
    CHECK(merged("{a: 1}", "{a: 1}", "-", {.mode = mode}) == "-");
    CHECK(merged("{a: 1}", "-", "-", {.mode = mode}) == "-");
    CHECK(merged("{a: 1}", "-", "{a: 2}", {.mode = mode, .prefer = Prefer::ours}) == "-");
    CHECK(merged("{a: 1}", "-", "{a: 2}", {.mode = mode, .prefer = Prefer::theirs}) == json("{a: 2}"));
  }
}

TEST_CASE("rules put together what both changed") {
  using Kind = PathRule::Kind;
  const auto by = [&](Kind kind, const char* base, const char* ours, const char* theirs) {
    return merged(base, ours, theirs, {.paths = rule("n", kind)});
  };
  CHECK(by(Kind::sum, "{n: 5, b: 1}", "{n: 4, b: 1}", "{n: 4, b: 2}") == json("{n: 3, b: 2}"));
  CHECK(by(Kind::sum, "{b: 1}", "{n: 4, b: 1}", "{n: 4, b: 2}") == json("{n: 8, b: 2}"));
  CHECK(by(Kind::sum, "{n: 1}", "{n: 'x'}", "{n: 2}") == "conflict n");
  CHECK(by(Kind::max, "{n: 1}", "{n: 2}", "{n: 3}") == json("{n: 3}"));
  CHECK(by(Kind::min, "{n: 1}", "{n: 2}", "{n: 3}") == json("{n: 2}"));
  CHECK(by(Kind::max, "{n: 1}", "{}", "{n: 3}") == "conflict n");
  CHECK(by(Kind::union_, "{n: [1, 2, 3]}", "{n: [2, 3, 4, 5]}", "{n: [1, 2, 6, 5]}") == json("{n: [2, 4, 5, 6]}"));
  CHECK(by(Kind::append, "{n: [1]}", "{n: [1, 2]}", "{n: [1, 3, 4]}") == json("{n: [1, 2, 3, 4]}"));
  CHECK(by(Kind::append, "{n: [1]}", "{n: [2]}", "{n: [1, 3]}") == "conflict n");
  CHECK(by(Kind::ours, "{n: 1}", "{n: 2}", "{n: 3}") == json("{n: 2}"));
  CHECK(by(Kind::theirs, "{n: 1}", "{n: 2}", "{n: 3}") == json("{n: 3}"));
  CHECK(by(Kind::theirs, "{n: 1}", "{n: 2}", "{}") == json("{}"));
  CHECK(merged("{o: {n: 1}}", "{o: {n: 2}}", "{o: {n: 3}}", {.paths = rule("o.n", Kind::sum)}) == json("{o: {n: 4}}"));
}

TEST_CASE("arrays by key merge their elements as documents, with the rules of their paths") {
  const char* base = "{lines: [{sku: 'a', n: 1, at: 1}, {sku: 'b', n: 1}, {sku: 'c', n: 1}]}";
  const char* ours = "{lines: [{sku: 'a', n: 2, at: 1}, {sku: 'c', n: 1}, {sku: 'd', n: 1}]}";
  const char* theirs = "{lines: [{sku: 'e', n: 1}, {sku: 'a', n: 1, at: 2}, {sku: 'b', n: 1}, {sku: 'c', n: 5}]}";
  CHECK(merged(base, ours, theirs, {.paths = rule("lines", PathRule::Kind::by_key, "sku")}) ==
        json("{lines: [{sku: 'a', n: 2, at: 2}, {sku: 'c', n: 5}, {sku: 'd', n: 1}, {sku: 'e', n: 1}]}"));
  PathRules summed = rule("lines", PathRule::Kind::by_key, "sku");
  const char* more = "{lines: [{sku: 'a', n: 4, at: 1}, {sku: 'b', n: 1}, {sku: 'c', n: 1}]}";
  CHECK(merged(base, ours, more, {.paths = summed}) == "conflict lines.n");
  summed["lines.n"] = {PathRule::Kind::sum};
  CHECK(merged(base, ours, more, {.paths = summed}) ==
        json("{lines: [{sku: 'a', n: 5, at: 1}, {sku: 'c', n: 1}, {sku: 'd', n: 1}]}"));
  const char* changed = "{lines: [{sku: 'a', n: 1, at: 1}, {sku: 'b', n: 2}, {sku: 'c', n: 1}]}";  // b is gone from ours
  CHECK(merged(base, ours, changed, {.paths = summed}) == "conflict lines");
  CHECK(merged("{lines: []}", "{lines: [{n: 1}]}", "{lines: [{n: 2}]}", {.paths = summed}) == "conflict lines");
}

TEST_CASE("what is in conflict is asked about, and stays open where no answer comes") {
  MergeRules rules;
  rules.decide = [](const Sides& sides) -> Resolution {
    if (!sides.ours) return {Resolution::Kind::conflict};
    return {Resolution::Kind::written, bson::json("{decided: 1}").bytes()};
  };
  CHECK(merged("{a: 1}", "{a: 2}", "{a: 3}", rules) == json("{decided: 1}"));
  CHECK(merged("{a: 1, b: 1}", "{a: 2, b: 1}", "{a: 1, b: 3}", rules) == json("{a: 2, b: 3}"));  // nothing to ask
  CHECK(merged("{a: 1}", "-", "{a: 3}", rules) == "conflict");
}

// Three sides are maps from paths to numbers, and are merged path by path.
TEST_CASE("documents merge as maps of their paths do") {
  using Fields = std::map<std::string, int>;
  const std::vector<std::string> paths{"a", "b", "c", "o.x", "o.y", "o.p.z"};
  base::Random random(11);
  const auto document = [](const Fields& fields) {
    bson::Builder out, object, inner;
    for (const auto& [path, number] : fields) {
      if (path == "o.p.z")
        inner.append("z", number);
      else if (path.starts_with("o."))
        object.append(path.substr(2), number);
      else
        out.append(path, number);
    }
    object.append("p", inner.done().view());
    out.append("o", object.done().view());
    return out.done();
  };
  const auto fields_of = [](bson::DocumentView document) {
    Fields all;
    const auto walk = [&](auto& self, const std::string& above, bson::DocumentView in) -> void {
      for (const bson::Element& field : in) {
        if (field.is_object())
          self(self, above + std::string(field.name) + ".", field.as_document());
        else
          all[above + std::string(field.name)] = field.as_int32();
      }
    };
    walk(walk, "", document);
    return all;
  };
  size_t conflicts = 0, written = 0;
  for (int round = 0; round < 4000; ++round) {
    const auto changed = [&](Fields fields) {
      for (const std::string& path : paths) {
        const uint64_t dice = random.below(9);
        if (dice < 2) fields[path] = static_cast<int>(random.below(3));
        if (dice == 2) fields.erase(path);
      }
      return fields;
    };
    const Fields base = changed({}), ours = changed(base), theirs = changed(base);
    const MergeMode mode = random.below(2) ? touched : divergent;
    const auto prefer = static_cast<Prefer>(random.below(3));
    const bool sums = random.below(2) == 0;
    MergeRules rules{.mode = mode, .prefer = prefer};
    if (sums) rules.paths = rule("o.x", PathRule::Kind::sum);

    Fields expected;
    std::set<std::string> open;
    for (const std::string& path : paths) {
      const auto of = [&](const Fields& fields) { return fields.count(path) ? std::optional(fields.at(path)) : std::nullopt; };
      const auto b = of(base), o = of(ours), t = of(theirs);
      std::optional<int> result;
      if (o == b)
        result = t;
      else if (t == b)
        result = o;
      else if (sums && path == "o.x" && o && t)
        result = *o + *t - b.value_or(0);
      else if (o == t && (!o || mode == divergent))
        result = o;
      else
        open.insert(path), result = prefer == Prefer::theirs ? t : o;
      if (result) expected[path] = *result;
    }
    const Bytes b = document(base).bytes(), o = document(ours).bytes(), t = document(theirs).bytes();
    const Resolution resolution = merge_documents({b, o, t}, rules);
    if (o == t && o != b) {
      CHECK(resolution.kind == Resolution::Kind::ours);
    } else if (!open.empty() && prefer == Prefer::neither) {
      REQUIRE(resolution.kind == Resolution::Kind::conflict);
      CHECK(std::set<std::string>(resolution.paths.begin(), resolution.paths.end()) == open);
      ++conflicts;
    } else {
      const Bytes& result = resolution.kind == Resolution::Kind::ours     ? o
                            : resolution.kind == Resolution::Kind::theirs ? t
                                                                          : resolution.document;
      REQUIRE(resolution.kind != Resolution::Kind::conflict);
      CHECK(fields_of(bson::DocumentView(result)) == expected);
      ++written;
    }
  }
  CHECK(conflicts > 200);
  CHECK(written > 500);
}

namespace {

// Returns {f0: values(0), f1: values(1) …}, or in the opposite order.
bson::Document many_fields(int count, bool reversed, const std::function<int(int)>& value) {
  bson::Builder out;
  for (int i = 0; i < count; ++i) {
    const int field = reversed ? count - 1 - i : i;
    out.append("f" + std::to_string(field), value(field));
  }
  return out.done();
}

// Three sides whose fields stand in different orders. Ours changed every third field, theirs those behind.
struct ManyFields {
  explicit ManyFields(int count)
      : base(many_fields(count, false, [](int) { return 0; })),
        ours(many_fields(count, true, [](int field) { return field % 3 == 0 ? 1 : 0; })),
        theirs(many_fields(count, false, [](int field) { return field % 3 == 1 ? 2 : 0; })) {}

  Resolution merge(const std::function<void()>& interrupted = {}) const {
    return merge_documents({base.bytes(), ours.bytes(), theirs.bytes(), &interrupted}, {});
  }

  bson::Document base, ours, theirs;
};

}  // namespace

TEST_CASE("documents with many fields merge like small ones") {
  const Resolution merged = ManyFields(1000).merge();
  REQUIRE(merged.kind == Resolution::Kind::written);
  CHECK(merged.document == many_fields(1000, true, [](int field) { return field % 3 == 2 ? 0 : field % 3 + 1; }).bytes());
}

TEST_CASE("the time of a merge grows with the number of fields") {
  const ManyFields few(2000), many(16'000);
  // With eight times as many fields, work that is quadratic takes 64 times as long.
  CHECK(least_cpu_seconds(3, [&] { many.merge(); }) < 32 * least_cpu_seconds(3, [&] { few.merge(); }));
}

TEST_CASE("a merge of documents with many fields stops when it is told to") {
  const ManyFields many(20'000);
  int asked = 0;
  many.merge([&] { ++asked; });
  CHECK(asked > 1);
  CHECK_THROWS_AS(many.merge([] { throw std::runtime_error("stop"); }), std::runtime_error);
}

namespace {

// Three sides whose arrays `n` have many elements; ours and theirs each have others behind those of the base.
struct LongArrays {
  static constexpr int count = 50'000;
  static bson::Document side(int more) {
    bson::Builder out;
    {
      auto all = out.array("n");
      for (int i = 0; i < count; ++i) all.object().append("k", i);
      if (more > 0) all.object().append("k", count + more);
    }
    return out.done();
  }
  Resolution merge(PathRule::Kind kind, const std::function<void()>& interrupted, const Hold& hold = {}) const {
    return merge_documents({base.bytes(), ours.bytes(), theirs.bytes(), &interrupted, &hold},
                           {.mode = divergent, .paths = rule("n", kind, "k")});
  }

  bson::Document base = side(0), ours = side(1), theirs = side(2);
};

}  // namespace

TEST_CASE("rules of paths look at their operation while they go over elements") {
  using Kind = PathRule::Kind;
  const LongArrays arrays;
  // Sets and maps compare each element with a dozen others, and an array at whose end elements were added with one.
  for (const auto& [kind, least] : {std::pair(Kind::union_, 50), std::pair(Kind::by_key, 50), std::pair(Kind::append, 5)}) {
    int asked = 0;
    REQUIRE(arrays.merge(kind, [&] { ++asked; }).kind == Resolution::Kind::written);
    CHECK(asked >= least);
    for (const int at : {1, asked / 2, asked}) {
      int left = at;
      CHECK_THROWS_AS(arrays.merge(kind,
                                   [&] {
                                     if (--left == 0) throw std::runtime_error("stop");
                                   }),
                      std::runtime_error);
    }
  }
}

TEST_CASE("what rules of paths keep of long arrays is counted, and released") {
  using Kind = PathRule::Kind;
  const LongArrays arrays;
  for (const Kind kind : {Kind::union_, Kind::by_key, Kind::append}) {
    std::ptrdiff_t bytes = 0, most = 0, limit = 1 << 30;
    const Hold hold = [&](std::ptrdiff_t more) {
      if (more > 0 && bytes + more > limit) throw std::runtime_error("too much");
      bytes += more;
      most = std::max(most, bytes);
    };
    arrays.merge(kind, {}, hold);
    CHECK(most > 3 * arrays.count * static_cast<std::ptrdiff_t>(sizeof(bson::ValueView)));
    CHECK(bytes == 0);
    limit = most / 2;
    CHECK_THROWS_AS(arrays.merge(kind, {}, hold), std::runtime_error);
    CHECK(bytes == 0);
  }
}

TEST_CASE("paths in conflict that no reply can hold are left out") {
  const std::string name(1 << 20, 'x');
  const auto side = [&](int value) {
    return bson::Builder().append(name, many_fields(40, false, [&](int) { return value; })).done();
  };
  const bson::Document base = side(0), ours = side(1), theirs = side(2);
  const Resolution resolution = merge_documents({base.bytes(), ours.bytes(), theirs.bytes()}, {});
  CHECK(resolution.kind == Resolution::Kind::conflict);
  CHECK(resolution.paths.empty());
}
