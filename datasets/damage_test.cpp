// Malformed and truncated input is named, and is skipped or fatal as the caller asked.
#include <catch2/catch.hpp>

#include "base/random.h"
#include "datasets/test_support.h"

namespace datasets {
namespace {

using namespace test;

std::vector<int64_t> ids(const std::vector<Item>& items) {
  std::vector<int64_t> list;
  for (const Item& item : items) list.push_back(item.document.find("_id").to_int64());
  return list;
}

std::string replaced(std::string text, const std::string& what, const std::string& with) {
  const size_t at = text.find(what);
  REQUIRE(at != std::string::npos);
  return text.replace(at, what.size(), with);
}

TEST_CASE("a damaged revision is left out and the page goes on") {
  const Folder folder;
  const std::string whole = read_file(fixtures + "/garden.xml");
  const std::string damaged = replaced(whole, "<comment>begun</comment>", "<comment>beg<un</comment>");
  const std::string path = folder.write("wiki.xml", damaged);
  Problems problems(Problems::Policy::skip);
  const auto items = load(path, problems);
  CHECK(ids(items) == std::vector<int64_t>{103, 101});
  CHECK(items[0].document.find("page").as_document()["title"].as_string() == "Compost");
  REQUIRE(problems.count() == 1);
  CHECK(problems.kept()[0].file.substr(problems.kept()[0].file.rfind('/')) == "/wiki.xml");
  CHECK(problems.kept()[0].line == 11);
  CHECK(problems.kept()[0].offset > damaged.find("beg<un"));
  CHECK(problems.kept()[0].offset < damaged.find("beg<un") + 20);
  CHECK_THROWS_AS(load_cleanly(path), InputError);
}

TEST_CASE("a revision without id or time is left out") {
  const Folder folder;
  std::string text = replaced(read_file(fixtures + "/garden.xml"), "<id>100</id>", "");
  text = replaced(text, "2020-05-02T10:00:00Z", "yesterday");
  Problems problems(Problems::Policy::skip);
  CHECK(ids(load(folder.write("wiki.xml", text), problems)) == std::vector<int64_t>{103});
  CHECK(problems.count() == 2);
}

TEST_CASE("what comes before a cut is loaded, the cut is a problem") {
  const Folder folder;
  const std::string whole = read_file(fixtures + "/garden.xml");
  const size_t cut = whole.find("Turn it");
  for (const std::string& content :
       {whole.substr(0, cut), zstd(whole).substr(0, zstd(whole).size() - 5), gzip(whole).substr(0, gzip(whole).size() - 9)}) {
    Problems problems(Problems::Policy::skip);
    const auto items = load(folder.write("wiki.xml", content), problems);
    CHECK(problems.count() >= 1);
    CHECK(items.size() <= 3);
    CHECK_THROWS_AS(load_cleanly(folder.path() + "/wiki.xml"), InputError);
  }
}

TEST_CASE("damaged compressed data is a problem of its file alone") {
  const Folder folder;
  std::string broken = zstd(read_file(fixtures + "/garden.xml"));
  broken[broken.size() / 2] = static_cast<char>(broken[broken.size() / 2] ^ 0x55);
  folder.write("1.xml.zst", broken);
  folder.write("2.jsonl", read_file(fixtures + "/forum.jsonl"));
  folder.write("3.bz2", "BZh9 and then nothing of the kind");
  Problems problems(Problems::Policy::skip);
  const auto items = load(folder.path(), problems);
  CHECK(problems.count() >= 2);
  REQUIRE(items.size() >= 2);
  CHECK(items.back().document.find("_id").to_int64() == 11);
}

TEST_CASE("a line that is no JSON is named by its number") {
  const Folder folder;
  const std::string line = R"({"post_id": 1, "body": "b", "timestamp": "2020-06-01T08:00:00Z"})";
  const std::string path = folder.write(
      "forum.jsonl",
      line + "\n{\"post_id\": 2, \"body\": \n\n{\"post_id\": 3}\n{\"post_id\": 4, \"body\": \"b\", \"timestamp\": \"soon\"}\n" +
          line);
  Problems problems(Problems::Policy::skip);
  CHECK(load(path, problems).size() == 2);
  REQUIRE(problems.count() == 3);
  CHECK(problems.kept()[0].line == 2);
  CHECK(problems.kept()[0].offset == line.size() + 1);
  CHECK(problems.kept()[1].line == 4);
  CHECK(problems.kept()[2].line == 5);
}

TEST_CASE("a bad row of a dump does not take its neighbours with it") {
  const Folder folder;
  const std::string text = replaced(read_file(fixtures + "/site.example/PostHistory.xml"), "PostId=\"5\"", "PostId=5");
  Problems problems(Problems::Policy::skip);
  const auto items = load(folder.write("site/PostHistory.xml", text), problems);
  REQUIRE(items.size() == 1);
  CHECK(items[0].document.find("_id").as_string() == "site/2");
  CHECK(problems.count() == 1);
}

TEST_CASE("an archive that breaks off is reported") {
  const Folder folder;
  const std::string forum = read_file(fixtures + "/forum.jsonl");
  const std::string whole = tar({{"a.jsonl", forum}, {"b.jsonl", forum}});
  for (const size_t bytes : {whole.find("They", 1500), size_t{1024 + 100}}) {
    Problems problems(Problems::Policy::skip);
    const auto items = load(folder.write("a.tar", whole.substr(0, bytes)), problems);
    CHECK(problems.count() == 1);
    CHECK(items.size() == 2);
  }
  std::string damaged = whole;
  damaged[1024 + 130] = 'x';  // in the second header
  Problems problems(Problems::Policy::skip);
  CHECK(load(folder.write("a.tar", damaged), problems).size() == 2);
  CHECK(problems.count() == 1);
}

TEST_CASE("commits that make no sense are left out") {
  const Folder folder;
  const std::string path = folder.write("records.jsonl",
                                        "{\"commit\": \"c1\", \"parents\": [], \"changes\": [{\"op\": \"turn\", \"coll\": \"a\", "
                                        "\"key\": 1}, 7, {\"op\": \"insert\", \"coll\": \"a\", \"key\": 1}]}\n"
                                        "{\"commit\": 5, \"parents\": [], \"changes\": []}\n");
  Problems problems(Problems::Policy::skip);
  const auto items = load(path, problems);
  REQUIRE(items.size() == 1);
  CHECK(items[0].collection == "commits");
  CHECK(problems.count() == 4);
}

TEST_CASE("there is nothing to load from nowhere") {
  CHECK_THROWS_AS(load_cleanly("/nowhere/at/all"), InputError);
  CHECK_THROWS_AS(load_cleanly("synthetic:nothing"), InputError);
  const Folder folder;
  CHECK(load_cleanly(folder.path()).empty());
  CHECK_THROWS_AS(load_cleanly(folder.path(), Kind::git), InputError);
}

TEST_CASE("any bytes flipped or cut: problems, never a crash") {
  const Folder folder;
  base::Random random(20200501);
  const std::vector<std::pair<std::string, Kind>> inputs = {
      {read_file(fixtures + "/garden.xml"), Kind::wikipedia},
      {read_file(fixtures + "/garden.mbox"), Kind::mbox},
      {read_file(fixtures + "/site.example/Posts.xml"), Kind::stackexchange},
      {read_file(fixtures + "/forum.jsonl"), Kind::boards},
      {read_file(fixtures + "/ledger.jsonl"), Kind::versions},
      {read_file(fixtures + "/maildir/ada/inbox/1."), Kind::maildir}};
  for (const auto& [whole, kind] : inputs) {
    for (const std::string& packed : {whole, zstd(whole), bzip2(whole), gzip(whole), tar({{"x", whole}})}) {
      for (int round = 0; round < 20; ++round) {
        std::string damaged = packed.substr(0, random.below(8) == 0 ? random.below(packed.size()) : packed.size());
        for (uint64_t flips = random.below(4); flips > 0 && !damaged.empty(); --flips)
          damaged[random.below(damaged.size())] = static_cast<char>(random());
        Problems problems(Problems::Policy::skip);
        load(folder.write("input", damaged), problems, kind);
      }
    }
  }
}

}  // namespace
}  // namespace datasets
