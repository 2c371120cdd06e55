// These tests check log entries about branches and snapshots: their bytes never change, what was encoded is decoded to the same,
// and damage is refused.
#include <catch2/catch.hpp>

#include "bson/json.h"
#include "versions/log/branch_change.h"
#include "versions/log/snapshot_entries.h"

using namespace versions;
using namespace versions::log;
using bson::json;

namespace {

constexpr int64_t time_ms = 1767323045678;

Hash hash(uint8_t byte) {
  Hash hash;
  hash.fill(byte);
  return hash;
}
Bytes uuid(char byte) {
  return Bytes(16, byte);
}
Stamp stamp(uint32_t seconds, uint32_t count) {
  return Stamp{seconds} << 32 | count;
}
TreeKind buckets(uint32_t count) {
  return {.structure = merkle::Structure::bucket_tree, .buckets = count};
}
std::map<Bytes, TreeKind> trees() {
  return {{uuid(1), {.structure = merkle::Structure::patricia_trie}}, {uuid(2), buckets(100)}};
}
MadeCommit made(std::map<Bytes, TreeKind> trees = {}) {
  return {.time_ms = time_ms, .metadata = Bytes("m\0d", 3), .id = hash(0xee), .trees = std::move(trees)};
}

struct Pinned {
  BranchChange entry;
  const char* hex;  // made by another BSON library
};

const std::vector<Pinned>& pinned() {
  static const std::vector<Pinned> all = {
      {BeginBranches{.made = made()},
       "6100000010626567696e4272616e6368657300010000000974696d65002e8fa97c9b010000056d657461646174610003000000006d0064"
       "056964002000000000eeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee00"},
      {CreateBranch{.branch = "dev", .from = "main", .commit = hash(0xc0)},
       "57000000026372656174654272616e63680004000000646576000266726f6d00050000006d61696e0005636f6d6d6974002000000000c0"
       "c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c000"},
      {CreateBranch{.branch = "dev", .from = {}, .commit = hash(0xc0)},
       "48000000026372656174654272616e636800040000006465760005636f6d6d6974002000000000c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0"
       "c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c000"},
      {DropBranch{.branch = "dev"}, "190000000264726f704272616e636800040000006465760000"},
      {RenameBranch{.branch = "dev", .to = "next"},
       "280000000272656e616d654272616e636800040000006465760002746f00050000006e6578740000"},
      {ResetBranch{.branch = "dev", .commit = hash(0xc0)},
       "470000000272657365744272616e636800040000006465760005636f6d6d6974002000000000c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0"
       "c0c0c0c0c0c0c0c0c0c0c0c0c0c0c000"},
      {CreateTag{.tag = "v1", .commit = hash(0xc0)},
       "4400000002637265617465546167000300000076310005636f6d6d6974002000000000c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0"
       "c0c0c0c0c0c0c0c0c0c0c0c000"},
      {DropTag{.tag = "v1"}, "150000000264726f70546167000300000076310000"},
      {CommitBranch{.branch = "dev",
                    .collections = {uuid(1), uuid(2)},
                    .held = {.below = stamp(7, 8), .others = {stamp(9, 1), stamp(9, 2)}},
                    .made = made(trees())},
       "7f01000002636f6d6d697400040000006465760004636f6c6c656374696f6e730035000000053000100000000401010101010101010101"
       "010101010101053100100000000402020202020202020202020202020202001162656c6f77000800000007000000046f7468657273001b"
       "00000011300001000000090000001131000200000009000000000974696d65002e8fa97c9b010000056d65746164617461000300000000"
       "6d0064056964002000000000eeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee04747265657300a6000000"
       "0330004800000005636f6c6c656374696f6e001000000004010101010101010101010101010101010374726565001c0000000274726565"
       "000d0000007061747269636961547269650000000331005300000005636f6c6c656374696f6e0010000000040202020202020202020202"
       "0202020202037472656500270000000274726565000b0000006275636b65745472656500106275636b657473006400000000000000"},
      {CommitBranch{.branch = "dev", .collections = {}, .held = {.below = stamp(7, 8), .others = {}}, .made = made()},
       "7a00000002636f6d6d69740004000000646576001162656c6f77000800000007000000046f74686572730005000000000974696d65002e"
       "8fa97c9b010000056d657461646174610003000000006d0064056964002000000000eeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee"
       "eeeeeeeeeeeeeeeeeeeeee00"},
      {MakeTree{.commit = hash(0xc0), .collection = uuid(1), .documents = 262144, .tree = buckets(100)},
       "9d000000106d616b6554726565000100000005636f6d6d6974002000000000c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0"
       "c0c0c0c0c0c0c0c005636f6c6c656374696f6e0010000000040101010101010101010101010101010110646f63756d656e747300000004"
       "00037472656500270000000274726565000b0000006275636b65745472656500106275636b65747300640000000000"},
      {MakeCollection{.branch = "dev", .collection = uuid(1)},
       "3e000000026d616b65436f6c6c656374696f6e00040000006465760005636f6c6c656374696f6e00100000000401010101010101010101"
       "01010101010100"},
      {DropCollection{.branch = "dev", .collection = uuid(1)},
       "3e0000000264726f70436f6c6c656374696f6e00040000006465760005636f6c6c656374696f6e00100000000401010101010101010101"
       "01010101010100"},
      {TakeCollection{.branch = "dev", .collection = uuid(1), .from = "tmp.agg_out.1"},
       "560000000274616b65436f6c6c656374696f6e00040000006465760005636f6c6c656374696f6e00100000000401010101010101010101"
       "0101010101010266726f6d000e000000746d702e6167675f6f75742e310000"},
      {MergeBranch{.into = "main",
                   .from = hash(0xc0),
                   .parents = 2,
                   .generation = stamp(7, 8),
                   .roots = {{uuid(1), hash(0xd0)}, {uuid(2), hash(0xd1)}},
                   .made = made(trees())},
       "0b020000026d6572676500050000006d61696e000566726f6d002000000000c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0"
       "c0c0c0c0c0c0c0c010706172656e747300020000001167656e65726174696f6e00080000000700000004726f6f747300ad000000033000"
       "5100000005636f6c6c656374696f6e0010000000040101010101010101010101010101010105726f6f74002000000000d0d0d0d0d0d0d0"
       "d0d0d0d0d0d0d0d0d0d0d0d0d0d0d0d0d0d0d0d0d0d0d0d0d0000331005100000005636f6c6c656374696f6e0010000000040202020202"
       "020202020202020202020205726f6f74002000000000d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d1d100"
       "000974696d65002e8fa97c9b010000056d657461646174610003000000006d0064056964002000000000eeeeeeeeeeeeeeeeeeeeeeeeee"
       "eeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee04747265657300a60000000330004800000005636f6c6c656374696f6e00100000000401"
       "0101010101010101010101010101010374726565001c0000000274726565000d0000007061747269636961547269650000000331005300"
       "000005636f6c6c656374696f6e00100000000402020202020202020202020202020202037472656500270000000274726565000b000000"
       "6275636b65745472656500106275636b657473006400000000000000"},
      {MergeBranch{.into = "main", .from = hash(0xc0), .parents = 1, .generation = stamp(7, 8), .roots = {}, .made = made()},
       "b6000000026d6572676500050000006d61696e000566726f6d002000000000c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0"
       "c0c0c0c0c0c0c0c010706172656e747300010000001167656e65726174696f6e00080000000700000004726f6f74730005000000000974"
       "696d65002e8fa97c9b010000056d657461646174610003000000006d0064056964002000000000eeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee"
       "eeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee00"},
      {MergeBranch{.into = "main",
                   .from = hash(0xc0),
                   .parents = 1,
                   .generation = stamp(7, 8),
                   .roots = {{uuid(1), hash(0xd0)}},
                   .made = made(),
                   .imported = true,
                   .named = {{uuid(1), Bytes("\x1e\x02"), hash(0xc1)}, {uuid(1), Bytes("\x1e\x04")}}},
       "ae010000026d6572676500050000006d61696e000566726f6d002000000000c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0"
       "c0c0c0c0c0c0c0c010706172656e747300010000001167656e65726174696f6e00080000000700000004726f6f74730059000000033000"
       "5100000005636f6c6c656374696f6e0010000000040101010101010101010101010101010105726f6f74002000000000d0d0d0d0d0d0d0"
       "d0d0d0d0d0d0d0d0d0d0d0d0d0d0d0d0d0d0d0d0d0d0d0d0d000000974696d65002e8fa97c9b010000056d657461646174610003000000"
       "006d0064056964002000000000eeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee04696d706f7274656400"
       "9a0000000330005d00000005636f6c6c656374696f6e00100000000401010101010101010101010101010101056b65790002000000001e"
       "020568617368002000000000c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1000331003200000005636f"
       "6c6c656374696f6e00100000000401010101010101010101010101010101056b65790002000000001e04000000"},
      {AdvanceBranch{.branch = "dev", .commit = hash(0xc0)},
       "4900000002616476616e63654272616e636800040000006465760005636f6d6d6974002000000000c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0"
       "c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c000"},
      {BeginMerge{.into = "main", .commit = hash(0xc0), .request = json("{merge: 'dev'}")},
       "6400000002626567696e4d6572676500050000006d61696e0005636f6d6d6974002000000000c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0"
       "c0c0c0c0c0c0c0c0c0c0c0c0c0c0c003726571756573740014000000026d657267650004000000646576000000"},
      {Decide{.into = "main",
              .collection = uuid(1),
              .key = Bytes("\x1e\x02"),
              .decision = {.take = Decision::Take::document, .document = Bytes(json("{_id: 1}").bytes()), .sides = hash(0xc0)}},
       "960000000264656369646500050000006d61696e0005636f6c6c656374696f6e0010000000040101010101010101010101010101010105"
       "6b65790002000000001e021074616b650003000000057369646573002000000000c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0"
       "c0c0c0c0c0c0c0c0c0c005646f63756d656e74000e000000000e000000105f696400010000000000"},
      {EndMerge{.into = "main"}, "1800000002656e644d6572676500050000006d61696e0000"},
      {SetRetention{.policy = {.newest = 10, .age_ms = 86400000}},
       "3600000010736574526574656e74696f6e0001000000126e6577657374000a00000000000000126167654d7300005c26050000000000"},
      {SetRetention{}, "1700000010736574526574656e74696f6e000100000000"},
      {SetCommitValidators{.validators = json("{c: {a: 1}}")},
       "3e00000010736574436f6d6d697456616c696461746f727300010000000376616c696461746f727300140000000363000c00000010610001"
       "000000000000"},
      {Sweep{.commits = {hash(0xc0), hash(0xc1)}},
       "6e000000107377656570000100000004636f6d6d69747300550000000530002000000000c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0c0"
       "c0c0c0c0c0c0c0c0c0c0c0c0c00531002000000000c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1c1c10000"},
      {FreeNodes{}, "1400000010667265654e6f646573000100000000"},
      {Purge{.collection = "orders", .id = bson::Value(int64_t{7})},
       "2400000002707572676500070000006f726465727300125f696400070000000000000000"},
  };
  return all;
}

struct PinnedSnapshot {
  SnapshotChange entry;
  const char* hex;
};

const std::vector<PinnedSnapshot>& pinned_snapshots() {
  static const std::vector<PinnedSnapshot> all = {
      {CreateSnapshot{{.number = 42, .stamp = stamp(7, 8), .time_ms = time_ms, .name = "before"}},
       "4800000012637265617465536e617073686f74002a00000000000000026e616d6500070000006265666f7265000974696d65002e8fa97c"
       "9b01000011617400080000000700000000"},
      {DropSnapshot{42}, "1b0000001264726f70536e617073686f74002a0000000000000000"},
  };
  return all;
}

template <class Change>
bson::Document encode(const Change& change) {
  return std::visit([](const auto& entry) { return entry.encode(); }, change);
}

// Fields that an entry may lack.
bool is_optional(std::string_view entry, std::string_view field) {
  if (field == "trees") return entry == "commit" || entry == "merge" || entry == "beginBranches";
  if (field == "imported" || field == "hash") return entry == "merge";
  return (entry == "createBranch" && field == "from") || (entry == "commit" && field == "collections") || entry == "setRetention";
}

// Fields whose values are the client's own.
bool is_free(std::string_view field) {
  return field == "request" || field == "validators" || field == "_id";
}

struct Damaged {
  std::string what;
  bson::Document document;
};

// Values of other types and lengths than a field has.
std::vector<bson::Value> wrong_values(const bson::ValueView& right) {
  std::vector<bson::Value> wrong{bson::Value::null()};
  wrong.emplace_back(right.is_string() ? bson::Value(int32_t{1}) : bson::Value("text"));
  wrong.emplace_back(2.5);
  if (right.type() == bson::Type::int32) wrong.emplace_back(int64_t{1});
  if (right.type() == bson::Type::int64) wrong.emplace_back(int32_t{1});
  if (right.type() == bson::Type::timestamp) wrong.emplace_back(bson::Date{5});
  if (right.type() == bson::Type::date) wrong.emplace_back(bson::Timestamp{5, 5});
  if (right.is_array()) wrong.emplace_back(bson::Value(json("{a: 1}")));
  if (right.is_object()) wrong.emplace_back(bson::Value::array(json("{'0': 1}")));
  if (right.type() == bson::Type::binary) {
    const bson::Binary binary = right.as_binary();
    const auto with = [&](bson::Binary changed) {
      wrong.emplace_back(static_cast<bson::ValueView>(bson::Builder().append("b", changed).done()["b"]));
    };
    with({static_cast<uint8_t>(binary.subtype + 1), binary.bytes});
    if (binary.bytes.size() == 16 || binary.bytes.size() == 32) {
      const Bytes longer = Bytes(binary.bytes) + "x";
      with({binary.subtype, binary.bytes.substr(1)});
      with({binary.subtype, longer});
      with({binary.subtype, {}});
    }
  }
  return wrong;
}

// Every document that differs from this one in one place, inside arrays and objects too. `entry`: the entry's name.
std::vector<Damaged> damaged(std::string_view entry, bson::DocumentView document, bool is_array, const std::string& path = "") {
  std::vector<Damaged> all;
  const auto with = [&](std::string_view field, const std::optional<bson::ValueView>& value) {
    bson::Builder out;
    for (const auto& one : document) {
      if (one.name != field) {
        out.append_element(one);
      } else if (value) {
        out.append(field, *value);
      }
    }
    return out.done();
  };
  for (const auto& one : document) {
    const std::string here = path + "." + std::string(one.name);
    if (is_free(one.name)) {
      all.push_back({"no " + here, with(one.name, std::nullopt)});
      continue;
    }
    // Without its first field an entry has another name, and an array without its last element is an array.
    if (!is_array && !is_optional(entry, one.name)) all.push_back({"no " + here, with(one.name, std::nullopt)});
    for (const bson::Value& wrong : wrong_values(one))
      all.push_back({here + " is " + bson::to_json(wrong.view()), with(one.name, wrong.view())});
    if (!one.is_object() && !one.is_array()) continue;
    for (const Damaged& inside : damaged(entry, one.as_document(), one.is_array(), here)) {
      const bson::Value value = one.is_array() ? bson::Value::array(inside.document.view()) : bson::Value(inside.document.view());
      all.push_back({inside.what, with(one.name, value.view())});
    }
  }
  return all;
}

std::string refusal(const std::function<void()>& decode) {
  try {
    decode();
  } catch (const base::OperationError& error) {
    CHECK(error.code() == base::ErrorCode::data_corruption_detected);
    return error.what();
  }
  return {};
}

}  // namespace

TEST_CASE("a log entry about branches or snapshots has the same bytes for ever") {
  for (const Pinned& one : pinned()) {
    const bson::Document bytes = encode(one.entry);
    INFO(bson::to_json(bytes));
    CHECK(base::to_hex(bytes.bytes()) == one.hex);
  }
  for (const PinnedSnapshot& one : pinned_snapshots()) CHECK(base::to_hex(encode(one.entry).bytes()) == one.hex);
}

TEST_CASE("every kind of log entry about branches is pinned") {
  std::set<size_t> kinds;
  for (const Pinned& one : pinned()) kinds.insert(one.entry.index());
  CHECK(kinds.size() == std::variant_size_v<BranchChange>);
}

TEST_CASE("a decoded log entry is what was encoded") {
  for (const Pinned& one : pinned()) {
    const bson::Document bytes = encode(one.entry);
    const BranchChange decoded = decode_branch_change(bytes);
    CHECK(decoded.index() == one.entry.index());
    CHECK(encode(decoded).bytes() == bytes.bytes());
    std::visit(
        [&](const auto& entry) {
          using Entry = std::decay_t<decltype(entry)>;
          if constexpr (std::equality_comparable<Entry>) CHECK(entry == std::get<Entry>(decoded));
        },
        one.entry);
  }
  for (const PinnedSnapshot& one : pinned_snapshots()) {
    const bson::Document bytes = encode(one.entry);
    CHECK(encode(decode_snapshot_change(bytes)).bytes() == bytes.bytes());
  }
}

TEST_CASE("a log entry with a missing or damaged field is refused by name") {
  const auto check = [](const bson::Document& whole, const auto& decode) {
    const std::string_view name = whole.view().begin()->name;
    const std::vector<Damaged> all = damaged(name, whole, false);
    for (const Damaged& one : all) {
      if (one.document.view().empty()) continue;  // it has its own test
      INFO(name << ": " << one.what);
      const std::string text = refusal([&] { decode(one.document); });
      CHECK(text.find("log") != text.npos);
      CHECK((text.find(name) != text.npos || one.what.starts_with("no ." + std::string(name))));
    }
  };
  for (const Pinned& one : pinned()) check(encode(one.entry), decode_branch_change);
  for (const PinnedSnapshot& one : pinned_snapshots()) check(encode(one.entry), decode_snapshot_change);
}

TEST_CASE("a log entry says which field is damaged, and what it must be") {
  CHECK(refusal([] { decode_branch_change(json("{createTag: 'v1'}")); }) ==
        "the log entry 'createTag' can't be read: its field 'commit' must be a hash of 32 bytes, and is missing");
  CHECK(refusal([] { decode_branch_change(json("{renameBranch: 'dev', to: 5}")); }) ==
        "the log entry 'renameBranch' can't be read: its field 'to' must be a string");
}

TEST_CASE("a log entry with a number out of its range is refused") {
  const auto changed = [](const BranchChange& entry, std::string_view field, const bson::Value& value) {
    const bson::Document whole = encode(entry);
    bson::Builder out;
    for (const auto& one : whole.view())
      out.append(one.name, one.name == field ? value.view() : static_cast<bson::ValueView>(one));
    return out.done();
  };
  const auto refused = [&](const BranchChange& entry, std::string_view field, const bson::Value& value) {
    const bson::Document document = changed(entry, field, value);
    INFO(bson::to_json(document));
    CHECK(!refusal([&] { decode_branch_change(document); }).empty());
  };
  for (const int32_t number : {0, 2, -1}) refused(FreeNodes{}, "freeNodes", bson::Value(number));
  for (const int32_t parents : {0, 3, -1}) refused(MergeBranch{.into = "main"}, "parents", bson::Value(parents));
  for (const int32_t take : {-1, 4, 256})
    refused(Decide{.into = "main", .collection = uuid(1), .key = {}}, "take", bson::Value(take));
  for (const int32_t documents : {0, -1})
    refused(MakeTree{.collection = uuid(1), .documents = 1}, "documents", bson::Value(documents));
  for (const int64_t number : {int64_t{0}, int64_t{-1}, INT64_MIN}) {
    refused(SetRetention{.policy = {.newest = 1, .age_ms = 1}}, "newest", bson::Value(number));
    refused(SetRetention{.policy = {.newest = 1, .age_ms = 1}}, "ageMs", bson::Value(number));
    bson::Builder drop;
    drop.append("dropSnapshot", number);
    const bson::Document document = drop.done();
    CHECK(!refusal([&] { decode_snapshot_change(document); }).empty());
  }
}

TEST_CASE("an empty or unknown log entry about branches or snapshots is refused") {
  for (const char* const text : {"{}", "{forget: 'dev'}", "{'': 1}", "{createBranches: 'dev'}", "{CreateBranch: 'dev'}"}) {
    INFO(text);
    CHECK(!refusal([&] { decode_branch_change(json(text)); }).empty());
    CHECK(!refusal([&] { decode_snapshot_change(json(text)); }).empty());
  }
  CHECK(!refusal([] { decode_branch_change(json("{dropSnapshot: 1}")); }).empty());
  CHECK(!refusal([] { decode_snapshot_change(json("{dropBranch: 'dev'}")); }).empty());
}
