#include "storage/engine/metadata_copy.h"

#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <thread>

#include <zstd.h>

#include "base/error.h"
#include "base/hash.h"
#include "base/random.h"
#include "base/testing.h"
#include "storage/engine/engine.h"
#include "storage/testing/damage.h"
#include "storage/testing/temporary_store.h"

using namespace storage;
using base::testing::error_of;
namespace fs = std::filesystem;

namespace {

constexpr int tables = 40, rows = 20;
constexpr char turtle[] = "/WiredTiger.turtle", metadata[] = "/WiredTiger.wt", copy[] = "/WiredTiger.copy";

Bytes content_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

void put_content(const std::string& path, const Bytes& content) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << content;
}

std::string name_of(int table) {
  return "table-" + std::to_string(table);
}

void write(Engine& engine, int table, const std::string& value) {
  const Table made = engine.open_table(name_of(table));
  in_transaction(engine, [&](Transaction& transaction) {
    for (int row = 0; row < rows; ++row) made.put(transaction, std::to_string(row), value);
  });
}

// Half of the tables' rows are older than the newest checkpoint, and some tables as well.
void write_all(Engine& engine) {
  for (int table = 0; table < tables - 5; ++table) write(engine, table, "first");
  engine.checkpoint();
  for (int table = 0; table < tables - 5; ++table) write(engine, table, "second");
  engine.checkpoint();
  for (int table = 1; table < tables; table += 2) write(engine, table, "third");
}

bool has_table(Engine& engine, const std::string& name) {
  const auto names = engine.table_names();
  return std::find(names.begin(), names.end(), name) != names.end();
}

bool is_whole(Engine& engine) {
  for (int table = 0; table < tables; ++table) {
    const bool last = table % 2 == 1;
    if (!last && table >= tables - 5) continue;
    if (!has_table(engine, name_of(table))) return false;
    Transaction reader(engine, Transaction::Mode::read);
    for (int row = 0; row < rows; ++row) {
      if (Table(name_of(table)).get(reader, std::to_string(row)) != (last ? "third" : "second")) return false;
    }
  }
  return true;
}

void make(const TemporaryDirectory& made, bool crashed) {
  TemporaryDirectory directory;
  {
    Engine engine(test_options(directory.path()));
    write_all(engine);
    engine.wait_durable();
    if (crashed) directory.copy_to(made);
  }
  if (!crashed) directory.copy_to(made);
}

Bytes damaged(Bytes content, base::Random& random) {
  const size_t at = random.below(content.size());
  switch (random.below(4)) {
    case 0: content[at] = static_cast<char>(content[at] ^ (1 << random.below(8))); break;
    case 1:
      content.replace(at, std::min<size_t>(4096, content.size() - at), std::min<size_t>(4096, content.size() - at), '\0');
      break;
    case 2: content.resize(at); break;
    default: content.clear();
  }
  return content;
}

}  // namespace

TEST_CASE("damage to one file of WiredTiger's metadata costs nothing") {
  const bool crashed = GENERATE(false, true);
  const std::string file = GENERATE(std::string(turtle), std::string(metadata));
  CAPTURE(crashed, file);
  TemporaryDirectory whole;
  make(whole, crashed);
  const Bytes content = content_of(whole.path() + file);
  base::Random random(7);
  for (int damage = 0; damage < 24; ++damage) {
    TemporaryDirectory directory;
    whole.copy_to(directory);
    const Bytes now = damage == 0 ? Bytes() : damaged(content, random);
    CAPTURE(damage, now.size());
    if (damage == 0)
      fs::remove(directory.path() + file);
    else
      put_content(directory.path() + file, now);
    for (int start = 0; start < 2; ++start) {
      Engine engine(test_options(directory.path()));
      REQUIRE(is_whole(engine));
    }
    REQUIRE_FALSE(fs::exists(directory.path() + metadata + ".1"));  // WiredTiger began its metadata anew
  }
}

TEST_CASE("a directory whose metadata is lost is not taken for a new one") {
  const std::string lost = GENERATE(std::string(copy), std::string(metadata));
  TemporaryDirectory directory;
  make(directory, GENERATE(false, true));
  fs::remove(directory.path() + turtle);
  fs::remove(directory.path() + lost);
  const auto files = [&] { return std::distance(fs::directory_iterator(directory.path()), {}); };
  const auto before = files();
  for (const bool salvage : {false, true}) {
    StoreOptions options = test_options(directory.path());
    options.salvage = salvage;
    CHECK(error_of([&] { Engine engine(options); }) == base::ErrorCode::data_corruption_detected);
    CHECK(files() == before);
  }
}

TEST_CASE("each byte of the turtle may be another") {
  TemporaryDirectory directory;
  make(directory, true);
  TemporaryDirectory whole;
  directory.copy_to(whole);
  const Bytes content = content_of(whole.path() + turtle);
  // One number after another begins with a higher digit: an address, a size, or a place in the journal behind what there is.
  const size_t value = content.find("checkpoint_lsn=(");
  REQUIRE(value != content.npos);
  for (size_t at = value; at < std::min(value + 40, content.size()); ++at) {
    if (content[at] < '0' || content[at] > '9') continue;
    CAPTURE(at);
    Bytes other = content;
    other[at] = content[at] == '9' ? '1' : '9';
    TemporaryDirectory damaged_one;
    whole.copy_to(damaged_one);
    put_content(damaged_one.path() + turtle, other);
    Engine engine(test_options(damaged_one.path()));
    REQUIRE(is_whole(engine));
    CHECK(content_of(damaged_one.path() + copy).size() > content.size());
  }
}

TEST_CASE("a copy of an earlier checkpoint is of no use") {
  TemporaryDirectory directory;
  Bytes earlier;
  {
    Engine engine(test_options(directory.path()));
    write_all(engine);
    engine.checkpoint();
    earlier = content_of(directory.path() + copy);
    write(engine, 0, "later");
    engine.checkpoint();
  }
  const bool another = content_of(directory.path() + copy) != earlier;
  REQUIRE(another);
  put_content(directory.path() + copy, earlier);
  const std::string file = directory.path() + metadata;
  const Bytes sound = content_of(file);
  put_content(file, Bytes(sound.size(), '\0'));
  for (const bool salvage : {false, true}) {
    StoreOptions options = test_options(directory.path());
    options.salvage = salvage;
    CHECK(error_of([&] { Engine engine(options); }) == base::ErrorCode::data_corruption_detected);
    const bool as_it_was = content_of(file) == Bytes(sound.size(), '\0');
    CHECK(as_it_was);
  }
  put_content(file, sound);
  Engine engine(test_options(directory.path()));
  CHECK(has_table(engine, name_of(0)));
}

TEST_CASE("a damaged copy of the metadata is made anew") {
  TemporaryDirectory whole;
  make(whole, GENERATE(false, true));
  const Bytes content = content_of(whole.path() + copy);
  REQUIRE_FALSE(content.empty());
  base::Random random(9);
  for (int damage = 0; damage < 12; ++damage) {
    CAPTURE(damage);
    TemporaryDirectory directory;
    whole.copy_to(directory);
    const Bytes now = damaged(content, random);
    put_content(directory.path() + copy, now);
    {
      Engine engine(test_options(directory.path()));
      CHECK(is_whole(engine));
    }
    const bool other = content_of(directory.path() + copy) != now;
    CHECK(other);
    fs::remove(directory.path() + metadata);
    Engine engine(test_options(directory.path()));
    CHECK(is_whole(engine));
  }
}

TEST_CASE("what is damaged while the engine runs isn't copied") {
  const bool crashed = GENERATE(false, true);
  TemporaryDirectory directory, left;
  {
    Engine engine(test_options(directory.path()));
    write_all(engine);
    engine.checkpoint();
    const std::string file = directory.path() + metadata;
    const auto blocks = test::file_blocks(file);
    REQUIRE(blocks.size() > 2);
    for (const auto& block : blocks) {
      if (block.leaf) test::flip_byte(file, block.offset + block.bytes / 2);
    }
    write(engine, 2, "second");  // WiredTiger has the others' rows in memory, and doesn't write them again
    engine.checkpoint();
    engine.wait_durable();
    if (crashed) directory.copy_to(left);
  }
  if (!crashed) directory.copy_to(left);
  Engine engine(test_options(left.path()));
  CHECK(is_whole(engine));
}

TEST_CASE("a turtle that is newer than its copy stays") {
  TemporaryDirectory directory;
  Bytes older;
  {
    Engine engine(test_options(directory.path()));
    write_all(engine);
    engine.checkpoint();
    older = content_of(directory.path() + turtle);
  }
  const Bytes newer = content_of(directory.path() + turtle), file = content_of(directory.path() + metadata);
  REQUIRE(file.size() < 1 << 20);  // one piece
  // The copy was taken while the checkpoint was nearly complete: it has the older turtle, and the newer file.
  Bytes stored(1, '\2');
  base::append_le(stored, static_cast<uint64_t>(older.size()));
  base::append_le(stored, static_cast<uint64_t>(file.size()));
  Bytes frame(ZSTD_compressBound(file.size()), '\0');
  frame.resize(ZSTD_compress(frame.data(), frame.size(), file.data(), file.size(), 1));
  Bytes length;
  base::append_le(length, static_cast<uint32_t>(frame.size()));
  const uint64_t hash = base::hash64(frame, base::hash64(length, base::hash64(older, base::hash64(stored))));
  Bytes end;
  base::append_le(end, base::hash64(file));
  base::append_le(end, base::hash64(end, hash));
  stored += older + length + frame + end;
  put_content(directory.path() + copy, stored);
  MetadataCopy found(directory.path());
  int asked = 0;
  found.restore([&] { return ++asked > 0; });
  CHECK(asked == 1);
  CHECK(content_of(directory.path() + turtle) == newer);
  // A part of the address is another.
  put_content(directory.path() + turtle, Bytes(newer).replace(newer.find("addr=\"") + 8, 1, "x"));
  found.restore([] { return false; });
  CHECK(content_of(directory.path() + turtle) == older);
}

TEST_CASE("a copy is sound that was taken while tables come and go") {
  TemporaryDirectory directory, crashed, restored;
  Engine engine(test_options(directory.path()));
  write_all(engine);
  std::atomic<bool> stop{false};
  std::thread maker([&] {
    for (int i = 0; !stop; ++i) {
      const Table made = engine.open_table("passing-" + std::to_string(i));
      in_transaction(engine, [&](Transaction& transaction) { made.put(transaction, "key", "value"); });
      if (i % 3 == 0) engine.drop_table("passing-" + std::to_string(i));
    }
  });
  for (int round = 0; round < 20; ++round) engine.checkpoint();
  stop = true;
  maker.join();
  engine.wait_durable();
  directory.copy_to(crashed);
  crashed.copy_to(restored);
  fs::remove(restored.path() + metadata);
  Engine second(test_options(crashed.path())), third(test_options(restored.path()));
  CHECK(is_whole(third));
  for (const std::string& name : third.table_names()) {
    CAPTURE(name);
    CHECK(has_table(second, name));
  }
  CHECK(second.table_names().size() == third.table_names().size());
}
