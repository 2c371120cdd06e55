#include "server/wire/message.h"

#include <rapidcheck.h>
#include <catch2/catch.hpp>

#include "base/random.h"
#include "bson/json.h"

namespace server::wire {
namespace {

Message decoded(BytesView bytes) {
  Decoded result = decode(bytes);
  if (auto* malformed = std::get_if<Malformed>(&result)) FAIL(malformed->failure.message);
  return std::get<Message>(std::move(result));
}

Malformed refused(BytesView bytes) {
  Decoded result = decode(bytes);
  REQUIRE(std::holds_alternative<Malformed>(result));
  return std::get<Malformed>(std::move(result));
}

void set_length(Bytes& message) {
  base::store_le(message.data(), static_cast<int32_t>(message.size()));
}

Bytes query(const std::string& ns, bson::DocumentView document) {
  Bytes out(header_bytes, '\0');
  base::append_le<int32_t>(out, 4);
  out.append(ns).push_back('\0');
  base::append_le<int32_t>(out, 0);
  base::append_le<int32_t>(out, -1);
  out.append(document.bytes());
  store_header(out.data(), {static_cast<int32_t>(out.size()), 7, 0, OpCode::query});
  return out;
}

}  // namespace

TEST_CASE("a body and its document sequences come out as they went in") {
  const bson::Document first = bson::json("{_id: 1}");
  const bson::Document second = bson::json("{_id: 2, a: [1, 2]}");
  const Bytes bytes =
      encode_msg(9, more_to_come, bson::json("{insert: 'c', $db: 'test'}"), {{"documents", {first.view(), second.view()}}});
  const Message message = decoded(bytes);
  CHECK(message.request_id == 9);
  CHECK(message.has(more_to_come));
  CHECK_FALSE(message.has(exhaust_allowed));
  CHECK(message.request.command == "insert");
  CHECK(message.request.db == "test");
  CHECK(message.request.collection() == "c");
  const auto documents = message.request.documents("documents");
  REQUIRE(documents.size() == 2);
  CHECK(documents[1].bytes() == second.view().bytes());
}

TEST_CASE("a command is named by its first field, where a driver puts _id before that by the second", "[wire]") {
  const auto command = [](const char* text) {
    const bson::Document body = bson::json(text);
    const Bytes bytes = encode_msg(1, 0, body);
    Message message = std::get<Message>(decode(bytes));
    const Message moved = std::move(message);  // the bytes that it borrows move with it
    return moved.request.command + " " + bson::to_json(moved.request.body);
  };
  CHECK(command("{_id: 17, dedupChain: 'c', limit: 3, $db: 'd'}") ==
        "dedupChain " + bson::to_json(bson::json("{dedupChain: 'c', _id: 17, limit: 3, $db: 'd'}")));
  CHECK(command("{dedupChain: 'c', _id: 17, $db: 'd'}") ==
        "dedupChain " + bson::to_json(bson::json("{dedupChain: 'c', _id: 17, $db: 'd'}")));
  CHECK(command("{_id: 17, $db: 'd'}") == "_id " + bson::to_json(bson::json("{_id: 17, $db: 'd'}")));
}

TEST_CASE("documents may come in the body instead") {
  const Bytes bytes = encode_msg(1, 0, bson::json("{insert: 'c', documents: [{a: 1}, {a: 2}], $db: 'test'}"));
  CHECK(decoded(bytes).request.documents("documents").size() == 2);
  const Bytes wrong = encode_msg(1, 0, bson::json("{insert: 'c', documents: [1], $db: 'test'}"));
  CHECK_THROWS_WITH(decoded(wrong).request.documents("documents"),
                    "BSON field 'insert.documents.0' is the wrong type 'int', expected type 'object'");
}

TEST_CASE("a wrong checksum ends the connection, a right one is accepted") {
  Bytes bytes = encode_msg(1, checksum_present, bson::json("{ping: 1, $db: 'admin'}"));
  CHECK(decoded(bytes).request.command == "ping");
  bytes[25] = static_cast<char>(bytes[25] ^ 1);
  const Malformed malformed = refused(bytes);
  CHECK(malformed.failure.message == "OP_MSG checksum does not match contents");
  CHECK_FALSE(malformed.answerable);
}

TEST_CASE("unknown required flags end the connection, unknown optional ones don't matter") {
  Bytes bytes = encode_msg(1, 1u << 5, bson::json("{ping: 1, $db: 'admin'}"));
  CHECK_FALSE(refused(bytes).answerable);
  bytes = encode_msg(1, 1u << 20, bson::json("{ping: 1, $db: 'admin'}"));
  CHECK(decoded(bytes).request.command == "ping");
}

TEST_CASE("a well framed but wrong message is answered with MongoDB's codes") {
  CHECK(refused(encode_msg(1, 0, bson::json("{ping: 1}"))).failure.code == base::ErrorCode(40571));
  CHECK(refused(encode_msg(1, 0, bson::json("{ping: 1, $db: 5}"))).answerable);
  const bson::Document one = bson::json("{a: 1}");
  const auto twice =
      refused(encode_msg(1, 0, bson::json("{insert: 'c', $db: 'd'}"), {{"documents", {one}}, {"documents", {one}}}));
  CHECK(twice.failure.code == base::ErrorCode(40431));
  CHECK(twice.answerable);
  const auto both = refused(encode_msg(1, 0, bson::json("{insert: 'c', documents: [], $db: 'd'}"), {{"documents", {one}}}));
  CHECK(both.failure.code == base::ErrorCode(40433));
  Bytes no_body = encode_msg(1, 0, bson::json("{}"));
  no_body.resize(header_bytes + 4);
  set_length(no_body);
  CHECK(refused(no_body).failure.code == base::ErrorCode(40587));
}

TEST_CASE("a document in a sequence beyond 16 MB is refused, and the stream goes on") {
  bson::Builder big;
  big.append("x", std::string(bson::document_bytes_max_internal, 'x'));
  const bson::Document document = big.done();
  const auto malformed = refused(encode_msg(3, 0, bson::json("{insert: 'c', $db: 'd'}"), {{"documents", {document}}}));
  CHECK(malformed.failure.code == base::ErrorCode::bson_object_too_large);
  CHECK(malformed.answerable);
  CHECK(malformed.message.request_id == 3);
}

TEST_CASE("headers with impossible lengths are refused") {
  char bytes[header_bytes];
  for (int32_t length : {-1, 0, 15, message_bytes_max + 1, INT32_MAX, INT32_MIN}) {
    store_header(bytes, {length, 1, 0, OpCode::msg});
    CHECK_FALSE(decode_header({bytes, header_bytes}).ok());
  }
  store_header(bytes, {message_bytes_max, 1, 0, OpCode::msg});
  CHECK(decode_header({bytes, header_bytes}).ok());
}

TEST_CASE("OP_QUERY is for the handshake alone") {
  const Bytes hello = query("admin.$cmd", bson::json("{isMaster: 1, client: {}}"));
  const Message message = decoded(hello);
  CHECK(message.legacy);
  CHECK(message.request.command == "isMaster");
  CHECK(message.request.db == "admin");
  CHECK(decoded(query("admin.$cmd", bson::json("{$query: {hello: 1}}"))).request.command == "hello");
  const auto find = refused(query("test.c", bson::json("{a: 1}")));
  CHECK(find.failure.code == base::ErrorCode(352));
  CHECK(find.answerable);
}

TEST_CASE("legacy opcodes are refused") {
  Bytes bytes = encode_msg(1, 0, bson::json("{ping: 1, $db: 'admin'}"));
  for (OpCode opcode : {OpCode::insert, OpCode::update, OpCode::remove, OpCode::get_more, OpCode::kill_cursors, OpCode::reply}) {
    store_header(bytes.data(), {static_cast<int32_t>(bytes.size()), 1, 0, opcode});
    CHECK_FALSE(refused(bytes).answerable);
  }
}

TEST_CASE("no garbage and no damaged message does harm") {
  const bson::Document one = bson::json("{a: 1, b: 'text', c: [1, {d: null}]}");
  const Bytes good = encode_msg(1, 0, bson::json("{insert: 'c', $db: 'd', x: {y: [1, 2]}}"), {{"documents", {one, one}}});
  CHECK(rc::check("flipped bytes decode or are refused", [&](uint64_t seed) {
    base::Random random(seed);
    Bytes bytes = good;
    for (uint64_t i = 0, flips = 1 + random.below(4); i < flips; ++i) {
      bytes[4 + random.below(bytes.size() - 4)] = static_cast<char>(random());
    }
    decode(bytes);
  }));
  CHECK(rc::check("cut messages are refused", [&](uint64_t seed) {
    Bytes bytes = good.substr(0, header_bytes + base::Random(seed).below(good.size() - header_bytes));
    set_length(bytes);
    const Decoded result = decode(bytes);
    if (bytes.size() != header_bytes + 5 + static_cast<size_t>(base::load_le<int32_t>(good.data() + 21))) {
      RC_ASSERT(std::holds_alternative<Malformed>(result));
    }
  }));
  CHECK(rc::check("random bytes behind a header", [](uint64_t seed, const std::string& noise) {
    Bytes bytes(header_bytes, '\0');
    bytes += noise;
    store_header(bytes.data(), {static_cast<int32_t>(bytes.size()), 1, 0, (seed & 1) ? OpCode::msg : OpCode::query});
    decode(bytes);
  }));
}

TEST_CASE("a reply is one checked document, whatever its fields") {
  const bson::Document body = bson::json("{_id: 1, n: 2}");  // no $db, nothing moved
  const Bytes bytes = encode_msg(5, checksum_present, body);
  const auto reply = decode_reply(bytes);
  REQUIRE(reply);
  CHECK(reply.value().body.bytes() == body.bytes());
  CHECK(reply.value().response_to == 0);
  CHECK_FALSE(decode_reply(encode_msg(5, 0, body, {{"documents", {body.view()}}})));
  CHECK_FALSE(decode_reply(query("admin.$cmd", body)));
  CHECK_FALSE(decode_reply(BytesView(bytes).substr(0, bytes.size() - 1)));
}

}  // namespace server::wire
