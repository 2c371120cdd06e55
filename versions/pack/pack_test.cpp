#include <catch2/catch.hpp>
#include <functional>

#include "base/error.h"
#include "versions/pack/test_packs.h"

namespace versions::pack {

using namespace testing;

namespace {

bool refused(BytesView bytes) {
  try {
    read(bytes);
    return false;
  } catch (const base::OperationError&) {
    return true;
  }
}

}  // namespace

TEST_CASE("A pack reads as it was written, in whatever pieces it comes") {
  const Contents before = two_commits();
  const Bytes bytes = written(before);
  for (const size_t piece : {size_t{1}, size_t{7}, bytes.size()}) {
    const Contents after = read(bytes, piece);
    CHECK(after.header.database == "shop");
    CHECK(after.header.first == before.header.first);
    CHECK(after.header.stands_on == before.header.stands_on);
    CHECK(after.header.refs == before.header.refs);
    REQUIRE(after.header.collections.size() == 1);
    CHECK(after.header.collections[0].indexes[0].bytes() == before.header.collections[0].indexes[0].bytes());
    REQUIRE(after.commits.size() == 2);
    for (size_t i = 0; i < 2; ++i) {
      CHECK(after.commits[i].first.id == before.commits[i].first.id);
      CHECK(after.commits[i].first.roots[0].tree.bytes() == before.commits[i].first.roots[0].tree.bytes());
      CHECK(after.commits[i].second == before.commits[i].second);
    }
  }
}

TEST_CASE("A pack with a flipped bit, or cut short, or with more behind it, is refused") {
  const Bytes bytes = written(two_commits());
  for (size_t at = 0; at < bytes.size(); ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      Bytes damaged = bytes;
      damaged[at] = static_cast<char>(damaged[at] ^ (1 << bit));
      INFO(at << ", bit " << bit);
      REQUIRE(refused(damaged));
    }
    REQUIRE(refused(BytesView(bytes).substr(0, at)));
  }
  CHECK(refused(bytes + "x"));
}

TEST_CASE("A pack of many frames reads as it was written") {
  Contents many = two_commits();
  auto& rows = many.commits.front().second;
  for (int i = 0; i < 120; ++i)
    rows.push_back({Row::Kind::insert, 0, "many" + std::to_string(i), Bytes(1 << 20, static_cast<char>(i))});
  const Bytes bytes = written(many);
  CHECK(bytes.size() < 1 << 20);
  CHECK(read(bytes).commits.front().second == rows);
}

TEST_CASE("A pack of a shallow history reads as it was written, and whatever bit is flipped is refused") {
  const Contents before = shallow();
  const Bytes bytes = written(before);
  const Contents after = read(bytes);
  CHECK(after.header.excluded == before.header.excluded);
  REQUIRE(after.commits.size() == 2);
  CHECK(after.commits[0].first.against == Hash{});
  CHECK(!after.commits[1].first.against);
  for (size_t at = 0; at < bytes.size(); ++at) {
    Bytes damaged = bytes;
    damaged[at] = static_cast<char>(damaged[at] ^ 4);
    INFO(at);
    REQUIRE(refused(damaged));
  }
}

TEST_CASE("A boundary that lies is refused") {
  const auto with = [](const std::function<void(Contents&)>& change) {
    Contents wrong = shallow();
    change(wrong);
    return refused(written(wrong));
  };
  CHECK(!with([](Contents&) {}));
  SECTION("its parent is neither there nor left out") {
    CHECK(with([](Contents& one) { one.header.excluded.pop_back(); }));
    CHECK(with([](Contents& one) { one.header.excluded.clear(); }));
  }
  SECTION("its parent is left out and stood on") {
    CHECK(with([](Contents& one) { one.header.stands_on = {one.header.excluded.front()}; }));
  }
  SECTION("a commit comes that is left out") {
    CHECK(with([](Contents& one) { one.header.excluded.push_back(one.commits[0].first.id); }));
    CHECK(with([](Contents& one) { one.header.excluded.push_back(one.commits[1].first.id); }));
  }
  SECTION("rows are against a parent that is left out") {
    CHECK(with([](Contents& one) { one.commits[0].first.against.reset(); }));
  }
  SECTION("rows are against another commit though the parent is there") {
    CHECK(with([](Contents& one) { one.commits[1].first.against = Hash{}; }));
    CHECK(with([](Contents& one) { one.commits[1].first.against = one.commits[0].first.id; }));
  }
  SECTION("rows are against a commit that nobody knows, or that is left out, or against the commit itself") {
    CHECK(with([](Contents& one) { one.commits[0].first.against = merkle::sha256("nobody"); }));
    CHECK(with([](Contents& one) { one.commits[0].first.against = one.header.excluded.front(); }));
    CHECK(with([](Contents& one) { one.commits[0].first.against = one.commits[0].first.id; }));
  }
  SECTION("a ref names a commit that is left out") {
    CHECK(with([](Contents& one) { one.header.refs[0].commit = one.header.excluded.front(); }));
  }
}

TEST_CASE("A commit that isn't what its id says is refused") {
  Contents wrong = two_commits();
  wrong.commits[1].first.metadata = "three";
  CHECK(refused(written(wrong)));
}

TEST_CASE("A commit before its parent is refused") {
  Contents wrong = two_commits();
  std::swap(wrong.commits[0], wrong.commits[1]);
  CHECK(refused(written(wrong)));
}

TEST_CASE("A ref to a commit that the pack doesn't have is refused") {
  Contents wrong = two_commits();
  wrong.header.refs[0].commit = merkle::sha256("nobody");
  CHECK(refused(written(wrong)));
}

}  // namespace versions::pack
