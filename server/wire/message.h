// These functions encode and decode MongoDB's messages. They are pure, and know no sockets.
//
//   header    | length i32 | request id i32 | response to i32 | opcode i32 |
//   OP_MSG    | header | flags u32 | section … | [crc32c u32] |
//   section   | 0 | document |                                the body, once
//             | 1 | length i32 | name 00 | document … |       a document sequence
//   OP_QUERY  | header | flags i32 | db.$cmd 00 | skip i32 | return i32 | document | [document] |
//   OP_REPLY  | header | flags i32 | cursor i64 | from i32 | returned i32 | document … |
//   OP_COMPRESSED | header | opcode i32 | raw length i32 | compressor u8 | bytes |
#pragma once

#include <array>
#include <optional>
#include <variant>

#include "base/result.h"
#include "server/core/command.h"

namespace server::wire {

using base::Bytes;
using base::BytesView;

enum class OpCode : int32_t {
  reply = 1,
  update = 2001,
  insert = 2002,
  query = 2004,
  get_more = 2005,
  remove = 2006,
  kill_cursors = 2007,
  compressed = 2012,
  msg = 2013,
};

inline constexpr int32_t header_bytes = 16;
inline constexpr int32_t message_bytes_max = 48'000'000;

struct Header {
  int32_t length = 0;  // of the whole message
  int32_t request_id = 0;
  int32_t response_to = 0;
  OpCode opcode{};
};

// Decodes a header from 16 bytes. Fails if the length is impossible: then the stream is lost.
base::Result<Header> decode_header(BytesView bytes);
// Does the same for messages of clients: fails also if the opcode is none of msg, query, compressed.
base::Result<Header> decode_request_header(BytesView bytes);
void store_header(char* to, const Header& header);

enum Flag : uint32_t { checksum_present = 1u << 0, more_to_come = 1u << 1, exhaust_allowed = 1u << 16 };

// A request as it came; it borrows the bytes from which it was decoded.
struct Message {
  int32_t request_id = 0;
  bool legacy = false;  // OP_QUERY: answered with OP_REPLY
  uint32_t flags = 0;   // of OP_MSG
  Request request;
  std::optional<bson::Document> reordered;  // the request's body borrows it if its fields were put into another order

  bool has(Flag flag) const { return (flags & flag) != 0; }
};

// Malformed says why a message can't be run. If framing and checksum are right, the sender gets an error (`answerable`, with what
// is known in `message`); else the connection must be closed.
struct Malformed {
  base::Failure failure;
  bool answerable = false;
  Message message;
};

using Decoded = std::variant<Message, Malformed>;

// `whole` is a message with its header, of opcode msg or query.
Decoded decode(BytesView whole);

// A reply as a client gets it; it borrows the bytes from which it was decoded.
struct ReplyMessage {
  int32_t response_to = 0;
  uint32_t flags = 0;
  bson::DocumentView body;
};
// `whole` is an OP_MSG with its header. Fails unless it has exactly one valid document.
base::Result<ReplyMessage> decode_reply(BytesView whole);

// The prefix of a reply precedes its one document, which is followed by `checksum` bytes if the flags say so.
struct ReplyPrefix {
  std::array<char, 36> bytes;
  size_t size = 0;
  BytesView view() const { return {bytes.data(), size}; }
};
ReplyPrefix msg_prefix(int32_t request_id, int32_t response_to, uint32_t flags, size_t document_bytes);
ReplyPrefix legacy_prefix(int32_t request_id, int32_t response_to, size_t document_bytes);

// Encodes a whole OP_MSG, for clients and tests.
Bytes encode_msg(int32_t request_id, uint32_t flags, bson::DocumentView body,
                 const std::vector<DocumentSequence>& sequences = {});

}  // namespace server::wire
