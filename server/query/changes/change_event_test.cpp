#include <catch2/catch.hpp>

#include <rapidcheck.h>

#include <set>

#include "base/error.h"
#include "base/testing.h"
#include "bson/diff.h"
#include "bson/json.h"
#include "bson/test_generators.h"
#include "server/query/changes/change_event.h"
#include "server/query/changes/resume_token.h"
#include "server/query/changes/update_description.h"
#include "server/query/test_support.h"

namespace server::query {
namespace {

std::string described(const char* diff, bool disambiguate = false) {
  bson::Builder out;
  append_update_description(bson::json(diff), disambiguate, bson::buffer_bytes_max, out);
  return bson::to_json(out.done().view());
}

rc::Gen<ResumeToken> any_token() {
  return rc::gen::exec([] {
    ResumeToken token;
    token.time = *rc::gen::arbitrary<uint64_t>();
    using Kind = ResumeToken::Kind;
    token.kind = *rc::gen::element(Kind::high_water, Kind::difference, Kind::event);
    if (token.kind == Kind::high_water) return token;
    token.index =
        *rc::gen::weightedOneOf<int64_t>({{3, rc::gen::inRange<int64_t>(0, 300)}, {1, rc::gen::inRange<int64_t>(0, 1LL << 40)}});
    token.from_invalidate = *rc::gen::arbitrary<bool>();
    if (*rc::gen::arbitrary<bool>()) token.collection = base::Bytes(16, *rc::gen::arbitrary<char>());
    if (*rc::gen::arbitrary<bool>()) token.part = *rc::gen::inRange<int64_t>(0, 300);
    return token;
  });
}

TEST_CASE("a resume token reads as it was written") {
  CHECK(rc::check("any token", [] {
    const ResumeToken token = *any_token();
    const ResumeToken read = ResumeToken::parse(token.document());
    RC_ASSERT(read.document().bytes() == token.document().bytes());
    RC_ASSERT(read.same_event(token));
    RC_ASSERT(read.part == token.part);
  }));
}

TEST_CASE("resume tokens sort by time, kind, place and part") {
  const auto key = [](const ResumeToken& token) {
    return std::make_tuple(token.time, token.kind, token.index, token.from_invalidate);
  };
  CHECK(rc::check("two tokens", [&] {
    ResumeToken a = *any_token(), b = *any_token();
    if (*rc::gen::arbitrary<bool>()) b.time = a.time;
    a.collection = b.collection;
    const auto text = [](const ResumeToken& token) { return std::string(token.document()["_data"].as_string()); };
    if (key(a) != key(b)) RC_ASSERT((key(a) < key(b)) == (text(a) < text(b)));
    b = a;
    a.part = *rc::gen::inRange<int64_t>(0, 300), b.part = *rc::gen::inRange<int64_t>(0, 300);
    RC_ASSERT((*a.part < *b.part) == (text(a) < text(b)));
  }));
}

TEST_CASE("the beginning of a token is MongoDB's") {
  ResumeToken token = ResumeToken::at(uint64_t{0x65B2A9A1} << 32 | 1);
  CHECK(token.document()["_data"].as_string() == "8265B2A9A1000000012B0429296E1404");
  token.kind = ResumeToken::Kind::event;
  token.collection = base::Bytes(16, '\x46');
  CHECK(token.document()["_data"].as_string() ==
        "8265B2A9A1000000012B042C0100296E5A100446464646464646464646464646464646"
        "04");
}

TEST_CASE("what is no token is refused") {
  CHECK(rc::check("changed tokens", [] {
    std::string text((*any_token()).document()["_data"].as_string());
    const size_t at = *rc::gen::inRange<size_t>(0, text.size());
    switch (*rc::gen::inRange(0, 3)) {
      case 0: text.resize(at); break;
      case 1: text[at] = *rc::gen::arbitrary<char>(); break;
      default: text.insert(at, "00");
    }
    bson::Builder document;
    document.append("_data", text);
    try {
      const ResumeToken read = ResumeToken::parse(document.done());
      (void)read.document();
    } catch (const base::OperationError&) {
    }
  }));
}

TEST_CASE("streams share a filter only if they have the same events") {
  const auto name = [](const EventOptions& options, const char* match) {
    return ChangeEvents(replication::LogScope::database("shop"), "shop", "", options).filter(bson::json(match))->name;
  };
  std::set<std::string> names;
  size_t count = 0;
  for (const auto full : {PostImage::plain, PostImage::lookup, PostImage::when_available, PostImage::required}) {
    for (const auto before : {PreImage::off, PreImage::when_available, PreImage::required}) {
      for (const int flags : {0, 1, 2, 3}) {
        EventOptions options;
        options.full_document = full, options.before = before;
        options.expanded = flags & 1, options.raw = flags & 2;
        for (const char* match : {"{a: 1}", "{a: 2}"}) {
          names.insert(name(options, match));
          CHECK(name(options, match) == name(options, match));
          ++count;
        }
      }
    }
  }
  CHECK(names.size() == count);
}

TEST_CASE("only filters that are quick are asked before a stream is woken") {
  const auto asked = [](const std::string& match) {
    const EventOptions options;
    return ChangeEvents(replication::LogScope::database("shop"), "shop", "", options).filter(bson::json(match)) != nullptr;
  };
  CHECK(asked("{operationType: 'insert', 'fullDocument.user': {$in: [1, 2]}}"));
  CHECK(asked("{$or: [{'documentKey._id': {$gt: 5, $lte: 9}}, {$and: [{ns: {db: 'shop', coll: 'orders'}}]}]}"));
  CHECK(asked("{'fullDocument.x': {$exists: true, $ne: null}}"));
  CHECK(!asked("{'fullDocument.x': {$regex: '(a+)+b'}}"));
  CHECK(!asked("{'fullDocument.x': {$eq: 1, $not: {$regex: 'a'}}}"));
  CHECK(!asked("{$or: [{a: 1}, {'fullDocument.x': {$in: ['a', {$regularExpression: {pattern: '(a+)+b', options: ''}}]}}]}"));
  CHECK(!asked("{'fullDocument.x': {$regularExpression: {pattern: 'a', options: ''}}}"));
  CHECK(!asked("{$jsonSchema: {required: ['x']}}"));
  CHECK(!asked("{'fullDocument.x': {$elemMatch: {$gt: 5}}}"));
  CHECK(!asked("{a: '" + std::string(20'000, 'a') + "'}"));
}

TEST_CASE("a search in the key of an event that is too large ends with the stream's operation") {
  constexpr int interrupted = 11601;
  const bson::Document document = bson::Builder().append("_id", std::string(20'000, 'x')).done();
  replication::LoggedChange change;
  change.entry.op = 'i', change.entry.ns = "shop.c", change.entry.o = document;
  const ChangeEvents events(replication::LogScope::database("shop"), "shop", "", {});
  const bson::Document slow = bson::json("{'documentKey._id': {$regex: '(?=x)x+[yz]'}}");
  TestServer server;
  TestServer::Operation one(server);
  CHECK(events.leaves_out(one.op, bson::json("{'documentKey._id': {$regex: 'y'}}"), change));
  CHECK_FALSE(events.leaves_out(one.op, bson::json("{'documentKey._id': {$regex: 'x'}}"), change));
  one.op.kill();
  CHECK(base::testing::code_of([&] { events.leaves_out(one.op, slow, change); }) == interrupted);
}

TEST_CASE("an update's description is made of its diff") {
  CHECK(described("{d: {gone: false}, u: {a: 1}, i: {n: {m: 1}}, ss: {u: {x: 2}, d: {y: false}}}") ==
        R"({"updatedFields": {"a": 1, "n": {"m": 1}, "s.x": 2}, "removedFields": ["gone", "s.y"], "truncatedArrays": []})");
  CHECK(described("{sl: {a: true, l: 2, u0: 'x', s1: {u: {q: 1}}}}") ==
        R"({"updatedFields": {"l.0": "x", "l.1.q": 1}, "removedFields": [], "truncatedArrays": [{"field": "l", "newSize": 2}]})");
  CHECK(described("{u: {'a.b': 1}, sl: {a: true, u0: 1, s1: {u: {'5': 1}}}, d: {plain: false}}", true) ==
        R"({"updatedFields": {"a.b": 1, "l.0": 1, "l.1.5": 1}, "removedFields": ["plain"], "truncatedArrays": [], )"
        R"("disambiguatedPaths": {"a.b": ["a.b"], "l.1.5": ["l", 1, "5"]}})");
  CHECK(described("{}") == R"({"updatedFields": {}, "removedFields": [], "truncatedArrays": []})");
}

TEST_CASE("a description that repeats a long path too often is refused") {
  const std::string name(1000, 'n');
  std::string diff = "{s" + name + ": {a: true";
  for (int i = 0; i < 1000; ++i) diff += ", u" + std::to_string(i) + ": 1";
  const bson::Document read = bson::json(diff + "}}");
  for (const bool disambiguate : {false, true}) {
    bson::Builder whole;
    append_update_description(read, disambiguate, 2 << 20, whole);
    CHECK(whole.done().size() > 1'000'000);
    bson::Builder out;
    try {
      append_update_description(read, disambiguate, 500'000, out);
      FAIL("not refused");
    } catch (const base::OperationError& error) {
      CHECK(error.code() == base::ErrorCode::bson_object_too_large);
    }
    CHECK(out.size() < 100);
  }
}

TEST_CASE("every diff that is computed can be described") {
  CHECK(rc::check("changed documents", [] {
    const bson::Document before = *bson::arbitrary_document(4), after = *bson::changed_document(before);
    const auto diff = bson::diff::compute(before, after);
    if (!diff) return;
    bson::Builder out;
    append_update_description(*diff, true, bson::buffer_bytes_max, out);
  }));
}

}  // namespace
}  // namespace server::query
