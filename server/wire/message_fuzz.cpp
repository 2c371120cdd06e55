// Bytes as they come from a socket, with their own length in the header: refused, or a request whose parts can be walked, which
// encoded again, plain or compressed, says the same. And the same bytes as a reply.
#include "base/fuzz_target.h"
#include "bson/json.h"
#include "server/wire/compression.h"
#include "server/wire/message.h"

namespace {

using namespace server::wire;

void check_sequences_read_back(const Message& message) {
  const Bytes again = encode_msg(message.request_id, 0, message.request.body, message.request.sequences);
  for (const Compressor compressor : {Compressor::none, Compressor::snappy, Compressor::zlib, Compressor::zstd}) {
    const auto unpacked = unpack(pack(again, compressor));
    base::check(unpacked.ok() && unpacked.value().message == again, "a message is unpacked as it was packed");
  }
  const Decoded decoded = decode(again);
  const auto* back = std::get_if<Message>(&decoded);
  base::check(back && back->request.body.bytes() == message.request.body.bytes() &&
              back->request.sequences.size() == message.request.sequences.size());
}

bool run(BytesView input) {
  Bytes bytes(input);
  if (bytes.size() < header_bytes) return false;
  base::store_le(bytes.data(), static_cast<int32_t>(bytes.size()));
  if (const auto reply = decode_reply(bytes); reply.ok()) (void)reply.value().body.count();
  Bytes inside;
  if (decode_header(bytes).or_throw().opcode == OpCode::compressed) {
    auto unpacked = unpack(bytes);
    if (!unpacked) return false;
    inside = std::move(unpacked->message);
  }
  const BytesView whole = inside.empty() ? BytesView(bytes) : BytesView(inside);
  const auto header = decode_request_header(whole.substr(0, header_bytes));
  if (!header.ok() || header.value().opcode == OpCode::compressed) return false;
  const Decoded decoded = decode(whole);
  const auto* message = std::get_if<Message>(&decoded);
  if (!message) return false;
  for (const auto& field : message->request.body) (void)field.truthy();
  for (const auto& sequence : message->request.sequences) {
    for (const auto& document : sequence.documents) (void)document.count();
  }
  if (!message->legacy) check_sequences_read_back(*message);
  return true;
}

std::vector<Bytes> seeds() {
  const auto body = bson::json("{insert: 'c', ordered: true, $db: 'test'}"), one = bson::json("{_id: 1}"),
             two = bson::json("{_id: 2}");
  const Bytes ping = encode_msg(7, 0, bson::json("{ping: 1, $db: 'admin'}").view());
  const Bytes insert = encode_msg(8, exhaust_allowed, body.view(), {{"documents", {one.view(), two.view()}}});
  Bytes query(header_bytes, '\0');
  base::append_le(query, int32_t{0});
  query += Bytes("admin.$cmd\0\0\0\0\0\xff\xff\xff\xff", 19) + bson::json("{isMaster: 1}").bytes();
  store_header(query.data(),
               {.length = static_cast<int32_t>(query.size()), .request_id = 1, .response_to = 0, .opcode = OpCode::query});
  return {ping, insert, pack(insert, Compressor::snappy), pack(insert, Compressor::zlib), pack(ping, Compressor::zstd), query};
}

const base::FuzzTarget target("message", run, seeds);

}  // namespace
