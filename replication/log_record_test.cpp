#include "replication/log_record.h"

#include <rapidcheck.h>
#include <catch2/catch.hpp>

#include "base/random.h"
#include "bson/json.h"

using namespace replication;

namespace {

struct Given {
  storage::Stamp stamp;
  Entry entry;
  Bytes uuid, session;
  std::string ns;
  bson::Document o, o2;
};

// Returns entries of one transaction, of every kind.
std::vector<Given> random_entries(base::Random& random) {
  std::vector<Given> entries(1 + random.below(6));
  const storage::Stamp first = random.below(uint64_t{1} << 62) + 1;
  uint64_t behind = random.below(3);
  for (Given& given : entries) {
    given.stamp = first + behind;
    given.uuid = Bytes(16, static_cast<char>(random.below(256)));
    given.session = Bytes(SessionWrite::id_bytes, static_cast<char>(random.below(256)));
    given.ns = "db.c" + std::to_string(random.below(9));
    given.o = bson::json("{_id: " + std::to_string(random.below(99)) + ", pad: '" + std::string(random.below(3000), 'p') + "'}");
    given.o2 = bson::json("{_id: 1}");
    Entry& entry = given.entry;
    entry.op = "iudcn"[random.below(5)];
    entry.wall_ms = static_cast<int64_t>(random.below(uint64_t{1} << 50));
    entry.term = static_cast<int64_t>(random.below(1000));
    entry.behind_first = behind;
    entry.uuid = given.uuid;
    entry.ns = given.ns;
    entry.o = given.o;
    if (random.below(2)) entry.o2 = given.o2.view();
    if ((entry.op == 'i' || entry.op == 'u') && random.below(2)) {
      entry.form = Entry::Form::delta;
      entry.o2.reset();
      entry.delta = {1 + random.below(given.stamp - 1), static_cast<uint32_t>(random()), random(), given.o2, given.session};
    }
    if (random.below(2)) entry.session = SessionWrite{given.session, 7, 3, {5, 1}, SessionWrite::Image::after};
    behind += 1 + random.below(3);
  }
  return entries;
}

Bytes encoded_entry(const Entry& entry) {
  Bytes bytes;
  encode(entry, bytes);
  return bytes;
}

Bytes encoded_record(const std::vector<Given>& entries, size_t compress_from) {
  LogRecordBuilder builder;
  for (const Given& given : entries) {
    Entry entry = given.entry;  // its views may have moved with the vector
    entry.uuid = given.uuid;
    entry.ns = given.ns;
    entry.o = given.o;
    if (entry.o2) entry.o2 = given.o2.view();
    entry.delta.base_id = given.o2;
    entry.delta.instructions = given.session;
    if (entry.session) entry.session->session = given.session;
    builder.add(given.stamp, entry);
  }
  return encode(builder.done(), compress_from);
}

}  // namespace

TEST_CASE("a record gives back its entries and their timestamps, compressed or not") {
  rc::check([](uint64_t seed) {
    base::Random random(seed);
    const auto entries = random_entries(random);
    const Bytes plain = encoded_record(entries, SIZE_MAX), small = encoded_record(entries, 0);
    RC_ASSERT(small.size() <= plain.size());
    for (const Bytes& bytes : {plain, small}) {
      const LogRecord record = decode_record(bytes).or_throw();
      RC_ASSERT(record.entries.size() == entries.size());
      for (size_t i = 0; i < entries.size(); ++i) {
        RC_ASSERT(record.entries[i].stamp == entries[i].stamp);
        RC_ASSERT(record.entries[i].entry.op == entries[i].entry.op);
        RC_ASSERT(record.entries[i].entry.ns == entries[i].ns);
        const Entry& back = record.entries[i].entry;
        const Entry& given = entries[i].entry;
        RC_ASSERT(back.form == given.form);
        if (back.form == Entry::Form::delta) {
          RC_ASSERT(back.delta.base_behind == given.delta.base_behind);
          RC_ASSERT(back.delta.base_checksum == given.delta.base_checksum);
          RC_ASSERT(back.delta.content_hash == given.delta.content_hash);
          RC_ASSERT(back.delta.base_id.bytes() == BytesView(entries[i].o2.bytes()));
          RC_ASSERT(back.delta.instructions == BytesView(entries[i].session));
        } else {
          RC_ASSERT(back.o.bytes() == BytesView(entries[i].o.bytes()));
        }
        RC_ASSERT(record.entries[i].entry.session.has_value() == entries[i].entry.session.has_value());
      }
      RC_ASSERT(encode(record, SIZE_MAX) == plain);
    }
  });
}

TEST_CASE("nothing is read outside of a record that is cut short or changed") {
  rc::check([](uint64_t seed) {
    base::Random random(seed);
    const Bytes whole = encoded_record(random_entries(random), random.below(2) ? 0 : SIZE_MAX);
    for (int i = 0; i < 20; ++i) {
      const Bytes cut = whole.substr(0, random.below(whole.size()));
      RC_ASSERT(!decode_record(cut).ok());
      Bytes changed = whole;
      changed[random.below(changed.size())] ^= static_cast<char>(1 << random.below(8));
      const auto record = decode_record(changed);
      if (!record.ok()) {
        RC_ASSERT(record.failure().code == base::ErrorCode::data_corruption_detected);
        continue;
      }
      for (const auto& item : record.value().entries) encoded_entry(item.entry);  // every view lies within
    }
    RC_ASSERT(!decode_record(whole + "x").ok());
  });
}

TEST_CASE("parts of a transaction travel one by one and are put together") {
  const Bytes uuid(16, 'u');
  std::vector<LogRecord> parts;
  std::vector<bson::Document> documents;
  for (int i = 0; i < 6; ++i) documents.push_back(bson::json("{_id: " + std::to_string(i) + "}"));
  LogRecordBuilder builder;
  for (uint64_t i = 0; i < 6; ++i) {
    Entry entry;
    entry.op = 'i', entry.uuid = uuid, entry.ns = "db.c", entry.o = documents[i], entry.behind_first = i;
    builder.add(100 + i, entry);
    if (i % 2 == 1) parts.push_back(decode_record(encode(builder.done(i < 5))).or_throw());
  }
  REQUIRE(parts.size() == 3);
  CHECK(parts[0].goes_on);
  CHECK(parts[1].goes_on);
  CHECK_FALSE(parts[2].goes_on);
  CHECK(parts[1].first() == 102);
  const LogRecord whole = join(std::move(parts));
  REQUIRE(whole.entries.size() == 6);
  CHECK_FALSE(whole.goes_on);
  for (int i = 0; i < 6; ++i) CHECK(whole.entries[static_cast<size_t>(i)].entry.o["_id"].as_int32() == i);
}

TEST_CASE("a record says how large it is, and is not believed beyond bounds") {
  Bytes bomb("\2", 1);
  for (int i = 0; i < 8; ++i) bomb.push_back('\xff');
  bomb.push_back('\1');
  CHECK_FALSE(decode_record(bomb + "xxxxxxxx").ok());
  CHECK_FALSE(decode_record({}).ok());
  CHECK_FALSE(decode_record("\3").ok());
}
