// Every format is read from fixtures that are small enough to read.
#include <catch2/catch.hpp>

#include "bson/json.h"
#include "datasets/test_support.h"

namespace datasets {
namespace {

using namespace test;

std::string json(const Item& item) {
  return bson::to_json(item.document);
}

TEST_CASE("a revision of a MediaWiki export is a document") {
  const auto items = load_cleanly(fixtures + "/garden.xml");
  REQUIRE(items.size() == 3);
  CHECK(items[0].collection == "revisions");
  CHECK(json(items[0]) ==
        R"({"_id": 100, "page": {"id": 7, "title": "Compost", "ns": 0}, "timestamp": {"$date": "2020-05-01T10:00:00Z"}, )"
        R"("user": {"name": "Ada", "id": 3}, "comment": "begun", "model": "wikitext", "format": "text/x-wiki", "sha1": "abc", )"
        R"("text": "Leaves & kitchen scraps.\n"})");
  CHECK(json(items[1]) ==
        R"({"_id": 103, "page": {"id": 7, "title": "Compost", "ns": 0}, "parent": 100, )"
        R"("timestamp": {"$date": "2020-05-03T10:00:00Z"}, )"
        R"("user": {"ip": "192.0.2.9"}, "minor": true, "text": "Leaves, straw & kitchen scraps.\nTurn it — often.\n"})");
  CHECK(items[0].group == items[1].group);
  CHECK(items[1].group != items[2].group);
  CHECK(items[2].document.find("_id").type() == bson::Type::int64);
  CHECK(items[0].text_bytes == 25);
}

TEST_CASE("a maildir message is a document with its headers apart") {
  const auto items = load_cleanly(fixtures + "/maildir");
  REQUIRE(items.size() == 2);
  CHECK(json(items[0]) ==
        R"({"_id": "ada/inbox/1.", "mailbox": "ada", "folder": "inbox", "date": {"$date": "2020-02-03T08:00:00Z"}, )"
        R"("messageId": "<1@example.com>", )"
        R"("from": "ada@example.com", "to": ["\"Lovelace, Ben\" <ben@example.com>", "caro@example.com"], "subject": "Seeds", )"
        R"json("headers": {"Date": "Mon, 3 Feb 2020 09:00:00 +0100 (CET)", "X-Folder": "inbox", )json"
        R"json("Received": "from a\nfrom b"}, "body": "Do you have any left?\n"})json");
  CHECK(items[1].document.find("body").as_string() ==
        "A handful, caf\xc3\xa9 au lait coloured.\n> Do you have any left?\n");  // Latin-1 became UTF-8
  CHECK(items[0].group == items[1].group);                                       // "Re: Seeds" answers "Seeds"
}

TEST_CASE("an mbox is cut at its From lines") {
  const auto items = load_cleanly(fixtures + "/garden.mbox");
  REQUIRE(items.size() == 2);
  CHECK(items[0].document.find("_id").as_string() == "garden.mbox/1");
  CHECK(items[0].document.find("body").as_string() == "Do you have any left?\n\n>From the shed, I mean.\n\n");
  CHECK(items[1].document.find("inReplyTo").as_string() == "<1@example.com>");
  CHECK(items[1].timestamp_ms == 1580810400000);  // from the envelope, for want of a Date
}

TEST_CASE("a Stack Exchange dump gives history and posts by site") {
  Problems problems(Problems::Policy::stop);
  SourceOptions options;
  options.source = fixtures + "/site.example";
  Source source(options, problems);
  const auto items = all(source);
  REQUIRE(items.size() == 3);
  CHECK(source.unknown() == 1);  // Votes.xml
  CHECK(json(items[0]) == R"({"_id": "site.example/1", "site": "site.example", "type": 2, "post": 5, "revision": "r-1", )"
                          R"("created": {"$date": "2020-03-01T12:00:00.250Z"}, )"
                          R"("user": 9, "licence": "CC BY-SA 4.0", "text": "How deep do\r\ntulips go?"})");
  CHECK(items[0].collection == "post_history");
  CHECK(items[2].collection == "posts");
  CHECK(bson::to_json(items[2].document.find("tags")) == R"(["bulbs", "clay-soil"])");
  CHECK(items[2].document.find("score").to_int64() == -2);
  CHECK(items[2].views == 41);
  CHECK(items[0].group == items[2].group);
}

TEST_CASE("a forum post is a document with its thread") {
  const auto items = load_cleanly(fixtures + "/forum.jsonl");
  REQUIRE(items.size() == 2);
  CHECK(json(items[1]) == R"({"_id": 11, "forum": "Beds", "thread": {"id": 5, "title": "Slugs"}, "user": "ben", )"
                          R"("timestamp": {"$date": "2020-06-01T09:00:00Z"}, )"
                          R"("edited": "once", "views": 12, "body": "[quote=\"ada\"]They ate it all.[/quote]\nBeer traps."})");
  CHECK(items[1].views == 12);
  CHECK(items[0].group == items[1].group);
}

TEST_CASE("versioned records follow the line of first parents") {
  const auto items = load_cleanly(fixtures + "/ledger.jsonl");
  std::vector<std::string> story;
  for (const Item& item : items) {
    const char* op = item.op == Item::Op::insert ? "+" : item.op == Item::Op::replace ? "=" : "-";
    story.push_back(op + item.collection + " " + bson::to_json(item.document.find("_id")));
  }
  CHECK(story == std::vector<std::string>{"+commits \"c1\"", "+beds \"a\"", "+tools \"t\"", "+commits \"c2\"", "=beds \"a\"",
                                          "+commits \"c3\"", "+beds \"b\"", "-tools \"t\""});
  CHECK(json(items[4]) == R"({"_id": "a", "crop": "peas", "rows": 4})");
  CHECK(json(items[2]) == R"({"_id": "t", "record": ["spade", "fork"]})");
  CHECK(json(items[3]) == R"({"_id": "c2", "parents": ["c1"], "author": "Ada", "timestamp": {"$date": "2020-01-02T23:00:00Z"}, )"
                          R"("message": "more rows", "changes": 1})");
}

TEST_CASE("archives, compression and folders of several kinds make no difference") {
  const Folder folder;
  const std::string long_name = "maildir/" + std::string(120, 'x') + "/inbox/1.";
  const std::string mail = read_file(fixtures + "/maildir/ada/inbox/1.");
  folder.write("a/wiki.xml.zst", zstd(read_file(fixtures + "/garden.xml"), 27));
  folder.write("b.tar.gz", gzip(tar({{"./maildir/ada/inbox/1.", mail},
                                     {long_name, mail},
                                     {"maildir/empty", ""},
                                     {"nested.tar", tar({{"forum.jsonl", read_file(fixtures + "/forum.jsonl")}})}})));
  folder.write("c.mbox.bz2", bzip2(read_file(fixtures + "/garden.mbox")) + bzip2(read_file(fixtures + "/garden.mbox")));
  folder.write(".hidden/forum.jsonl", read_file(fixtures + "/forum.jsonl"));
  const auto items = load_cleanly(folder.path());
  std::vector<std::string> ids;
  for (const Item& item : items) ids.push_back(bson::to_json(item.document.find("_id")));
  CHECK(ids == std::vector<std::string>{"100", "103", "101", "\"ada/inbox/1.\"", '"' + std::string(120, 'x') + "/inbox/1.\"", "9",
                                        "11", "\"c.mbox.bz2/1\"", "\"c.mbox.bz2/2\"", "\"c.mbox.bz2/3\"", "\"c.mbox.bz2/4\""});
}

TEST_CASE("the first bytes say which kind a file is") {
  CHECK(detect("x", "\xef\xbb\xbf<mediawiki version='0.11'>") == Kind::wikipedia);
  CHECK(detect("x", "From ada Mon Feb  3") == Kind::mbox);
  CHECK(detect("x", "Message-ID: <1>\nDate: today\n\nhello") == Kind::maildir);
  CHECK(detect("x", "Dear Ada:\nhow are you\n") == Kind::detect);
  CHECK(detect("x", "{\"commit\": \"c\", \"parents\": [], \"changes\": []}") == Kind::versions);
  CHECK(detect("x", "{\"post_id\": 1, \"body\": \"b\"}") == Kind::boards);
  CHECK(detect("Posts.xml", "<?xml version='1.0'?><rows>") == Kind::stackexchange);
  CHECK(detect("Votes.xml", "<?xml version='1.0'?><votes>") == Kind::detect);
  CHECK(detect("x", "") == Kind::detect);
}

}  // namespace
}  // namespace datasets
