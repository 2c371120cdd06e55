#include "versions/branch/record_set.h"

#include <catch2/catch.hpp>
#include <set>

#include "base/hash.h"
#include "base/random.h"
#include "base/varint.h"

using namespace versions;

namespace {

RecordSet some(base::Random& random, std::set<RecordId>& model) {
  RecordSet set;
  for (int i = 0; i < 300; ++i) {
    const RecordId record = record_at(static_cast<Segment>(random.below(3) + first_segment * random.below(2)),
                                      static_cast<uint32_t>(1 + random.below(200)));
    set.add(record);
    model.insert(record);
  }
  return set;
}

std::set<RecordId> ids(const RecordSet& set) {
  std::set<RecordId> all;
  set.for_each([&](RecordId record) { all.insert(record); });
  return all;
}

}  // namespace

TEST_CASE("sets of records behave as sets do") {
  base::Random random(7);
  for (int round = 0; round < 50; ++round) {
    std::set<RecordId> a_model, b_model;
    const RecordSet a = some(random, a_model), b = some(random, b_model);
    RecordSet both = a, either = a, one = a, first = a;
    both &= b, either |= b, one ^= b, first -= b;
    for (const RecordId record : ids(either)) {
      const bool in_a = a_model.count(record), in_b = b_model.count(record);
      CHECK((in_a || in_b));
      CHECK(both.contains(record) == (in_a && in_b));
      CHECK(one.contains(record) == (in_a != in_b));
      CHECK(first.contains(record) == (in_a && !in_b));
    }
    CHECK(either.count() == both.count() + one.count());
    one ^= both;
    CHECK(one == either);
    for (const RecordId record : ids(a)) either.remove(record);
    for (const RecordId record : ids(b)) either.remove(record);
    CHECK(either.empty());
    CHECK(either.parts().empty());
  }
}

TEST_CASE("a range of records may span segments") {
  RecordSet set;
  set.add_range(1, record_at(1, 5));
  CHECK(set.count() == UINT32_MAX + uint64_t{6});
  CHECK(set.contains(record_at(1, 5)));
  CHECK_FALSE(set.contains(record_at(1, 6)));
  CHECK_FALSE(set.contains(0));
}

TEST_CASE("what is written of a set is read back, whole or a segment alone") {
  base::Random random(8);
  std::set<RecordId> model;
  const RecordSet set = some(random, model);
  const Bytes bytes = write_set(set);
  CHECK(read_set(bytes).or_throw() == set);
  for (const auto& [segment, bitmap] : set.parts()) CHECK(read_part(bytes, segment).or_throw() == bitmap);
  CHECK(read_part(bytes, 77).or_throw().isEmpty());
  CHECK(read_set(write_set({})).or_throw().empty());
}

TEST_CASE("bytes that are no bitmap are refused, though their checksum holds") {
  for (const Bytes& bitmap : {Bytes(), Bytes("x"), Bytes(40, '\0'), Bytes(40, '\xff')}) {
    Bytes set;
    for (const uint64_t number : {uint64_t{1}, uint64_t{0}, uint64_t{bitmap.size()}}) base::append_varint(set, number);
    base::append_le(set, base::checksum32(bitmap));
    set += bitmap;
    CHECK_FALSE(read_set(set).ok());
    CHECK_FALSE(read_part(set, 0).ok());
  }
}

TEST_CASE("a set that has a segment twice is refused") {
  RecordSet set;
  set.add(record_at(5, 7));
  const Bytes once = write_set(set), part = once.substr(2);
  CHECK(read_set(Bytes("\1\5", 2) + part).ok());
  CHECK(read_set(Bytes("\2\5", 2) + part + "\1" + part).ok());
  CHECK_FALSE(read_set(Bytes("\2\5", 2) + part + Bytes(1, '\0') + part).ok());
}

TEST_CASE("a damaged set is refused, not trusted") {
  base::Random random(9);
  std::set<RecordId> model;
  const Bytes bytes = write_set(some(random, model));
  for (size_t length = 0; length < bytes.size(); length += 1 + length / 8)
    CHECK_FALSE(read_set(BytesView(bytes).substr(0, length)).ok());
  for (int i = 0; i < 300; ++i) {
    Bytes damaged = bytes;
    damaged[random.below(damaged.size())] ^= static_cast<char>(1 + random.below(255));
    // A damaged segment's number or length may be another valid one; a damaged bitmap may not be.
    if (const auto read = read_set(damaged); read.ok()) CHECK(read.value().count() <= 300);
    for (const Segment segment : {Segment{0}, first_segment}) (void)read_part(damaged, segment);
  }
}
