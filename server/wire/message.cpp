#include "server/wire/message.h"

#include "bson/builder.h"
#include "bson/validate.h"
#include "server/wire/crc32c.h"

namespace server::wire {

using base::ErrorCode;
using base::Failure;
using base::load_le;
using base::store_le;

namespace {

constexpr uint32_t required_flags = 0xffff;  // bits 0-15 must be understood
constexpr uint32_t understood_flags = checksum_present | more_to_come;

// A document that may be stored has bson::nesting_max levels, and the command around it some more.
constexpr int request_levels_max = bson::nesting_max + 20;

Failure failure(ErrorCode code, std::string message) {
  return {code, std::move(message)};
}
Failure failure(int32_t code, std::string message) {
  return {static_cast<ErrorCode>(code), std::move(message)};
}

// Takes a C string off the front.
std::optional<std::string_view> take_name(BytesView& in) {
  const size_t end = in.find('\0');
  if (end == BytesView::npos) return std::nullopt;
  const std::string_view name = in.substr(0, end);
  in.remove_prefix(end + 1);
  return name;
}

struct SectionReader {
  BytesView in;
  Request& request;
  bool body_seen = false;
  std::optional<Failure> unanswerable;  // the framing is wrong
  std::optional<Failure> answerable;    // the contents are wrong; the first failure counts

  void read_all() {
    while (!in.empty() && !unanswerable) {
      const char kind = in.front();
      in.remove_prefix(1);
      if (kind == 0)
        read_body();
      else if (kind == 1)
        read_sequence();
      else
        unanswerable = failure(40432, "Unknown section kind " + std::to_string(static_cast<uint8_t>(kind)));
    }
    if (!body_seen && !unanswerable && !answerable) answerable = failure(40587, "OP_MSG messages must have a body");
  }

  // Takes one document off the front of `from` and checks it; its length alone decides where the next one begins, if it lies
  // inside `from`.
  std::optional<bson::DocumentView> take_document(BytesView& from) {
    if (from.size() < 5 || load_le<int32_t>(from.data()) < 5 ||
        static_cast<size_t>(load_le<int32_t>(from.data())) > from.size()) {
      unanswerable = failure(ErrorCode::invalid_bson, "a document's length doesn't fit its section");
      return std::nullopt;
    }
    const BytesView bytes = from.substr(0, static_cast<size_t>(load_le<int32_t>(from.data())));
    from.remove_prefix(bytes.size());
    auto document = bson::validate(bytes, {.depth_max = request_levels_max});
    if (!document) {
      if (!answerable) answerable = document.failure();
      return std::nullopt;
    }
    return *document;
  }

  void read_body() {
    if (body_seen) {
      unanswerable = failure(40430, "Multiple body sections in message");
      return;
    }
    body_seen = true;
    if (auto document = take_document(in)) request.body = *document;
  }

  void read_sequence() {
    const auto length = in.size() < 4 ? 0 : load_le<int32_t>(in.data());
    if (length < 5 || static_cast<size_t>(length) > in.size()) {
      unanswerable = failure(ErrorCode::overflow, "a document sequence's length doesn't fit the message");
      return;
    }
    BytesView section = in.substr(4, static_cast<size_t>(length) - 4);
    in.remove_prefix(static_cast<size_t>(length));
    const auto name = take_name(section);
    if (!name) {
      unanswerable = failure(ErrorCode::overflow, "a document sequence's name doesn't end");
      return;
    }
    if (request.sequence(*name) && !answerable) {
      answerable = failure(40431, "Duplicate document sequence: " + std::string(*name));
    }
    DocumentSequence sequence{std::string(*name), {}};
    while (!section.empty() && !unanswerable) {
      if (auto document = take_document(section)) sequence.documents.push_back(*document);
    }
    request.sequences.push_back(std::move(sequence));
  }
};

// Some drivers (PyMongo) put a field `_id` before all others, also in a command: {_id: 17, dedupChain: "c"}. The field that the
// application wrote first names the command.
void name_first(Message& message) {
  auto field = message.request.body.begin();
  if (field == message.request.body.end() || field->name != "_id") return;
  const auto id = *field;
  if (++field == message.request.body.end() || field->name.starts_with('$')) return;
  bson::Builder out;
  out.append_element(*field).append_element(id);
  while (++field != message.request.body.end()) out.append_element(*field);
  message.reordered = out.done();
  message.request.body = *message.reordered;
}

std::optional<Failure> finish_request(Message& message) {
  name_first(message);
  Request& request = message.request;
  const auto first = request.body.first();
  if (first.exists()) request.command = first.name;
  const auto db = request.body.find("$db");
  if (!db.exists()) return failure(40571, "OP_MSG requests require a $db argument");
  if (!db.is_string()) return failure(ErrorCode::bad_value, "Argument to $db must be a string");
  request.db = db.as_string();
  for (const auto& sequence : request.sequences) {
    if (request.body.has(sequence.name)) {
      return failure(40433, "Duplicate field between body and document sequence " + sequence.name);
    }
  }
  return std::nullopt;
}

// Decodes an OP_MSG with any body.
Decoded decode_sections(const Header& header, BytesView whole) {
  Message message;
  message.request_id = header.request_id;
  BytesView rest = whole.substr(header_bytes);
  if (rest.size() < 4) return Malformed{failure(ErrorCode::protocol_error, "OP_MSG is too short for its flags"), false, {}};
  message.flags = load_le<uint32_t>(rest.data());
  rest.remove_prefix(4);
  if (message.flags & required_flags & ~understood_flags) {
    return Malformed{failure(40429, "Message contains illegal flags value: " + std::to_string(message.flags)), false, {}};
  }
  if (message.has(checksum_present)) {
    if (rest.size() < 4) return Malformed{failure(ErrorCode::protocol_error, "OP_MSG is too short for its checksum"), false, {}};
    const auto given = load_le<uint32_t>(rest.data() + rest.size() - 4);
    if (given != crc32c(whole.substr(0, whole.size() - 4))) {
      return Malformed{failure(281, "OP_MSG checksum does not match contents"), false, {}};
    }
    rest.remove_suffix(4);
  }
  SectionReader reader{.in = rest, .request = message.request, .unanswerable = {}, .answerable = {}};
  reader.read_all();
  if (reader.unanswerable) return Malformed{*reader.unanswerable, false, {}};
  if (reader.answerable) return Malformed{*reader.answerable, true, std::move(message)};
  return message;
}

Decoded decode_msg(const Header& header, BytesView whole) {
  Decoded decoded = decode_sections(header, whole);
  if (auto* message = std::get_if<Message>(&decoded)) {
    if (const auto wrong = finish_request(*message)) return Malformed{*wrong, true, std::move(*message)};
  }
  return decoded;
}

// Only the handshake may still come as OP_QUERY.
Decoded decode_query(const Header& header, BytesView whole) {
  const auto unusable = [](std::string why) { return Malformed{failure(ErrorCode::protocol_error, std::move(why)), false, {}}; };
  Message message;
  message.request_id = header.request_id;
  message.legacy = true;
  BytesView rest = whole.substr(header_bytes);
  if (rest.size() < 4) return unusable("OP_QUERY is too short");
  rest.remove_prefix(4);
  const auto ns = take_name(rest);
  if (!ns || rest.size() < 8) return unusable("OP_QUERY is too short");
  rest.remove_prefix(8);
  auto document = bson::validate(rest, {.depth_max = request_levels_max});
  if (!document) return Malformed{document.failure(), false, {}};
  message.request.body = *document;
  // Old clients wrap the command: {$query: {hello: 1}, $readPreference: …}.
  const auto first = message.request.body.first();
  if ((first.name == "$query" || first.name == "query") && first.is_object()) message.request.body = first.as_document();
  message.request.command = message.request.body.first().name;
  const std::string_view command = message.request.command;
  if (!ns->ends_with(".$cmd") || (command != "hello" && command != "isMaster" && command != "ismaster")) {
    return Malformed{failure(ErrorCode(352), "Unsupported OP_QUERY command: " + std::string(command) +
                                                 ". The client driver may require an upgrade. For more details see "
                                                 "https://dochub.mongodb.org/core/legacy-opcode-removal"),
                     true, std::move(message)};
  }
  message.request.db = ns->substr(0, ns->size() - 5);
  return message;
}

}  // namespace

base::Result<Header> decode_header(BytesView bytes) {
  if (bytes.size() < header_bytes) return failure(ErrorCode::protocol_error, "a header has 16 bytes");
  const Header header{load_le<int32_t>(bytes.data()), load_le<int32_t>(bytes.data() + 4), load_le<int32_t>(bytes.data() + 8),
                      static_cast<OpCode>(load_le<int32_t>(bytes.data() + 12))};
  if (header.length < header_bytes || header.length > message_bytes_max) {
    return failure(ErrorCode::protocol_error, "recv(): message mstr len " + std::to_string(header.length) + " is invalid. Min " +
                                                  std::to_string(header_bytes) + " Max: " + std::to_string(message_bytes_max));
  }
  return header;
}

base::Result<Header> decode_request_header(BytesView bytes) {
  auto header = decode_header(bytes);
  if (!header) return header;
  const OpCode opcode = header->opcode;
  if (opcode == OpCode::msg || opcode == OpCode::query || opcode == OpCode::compressed) return header;
  return failure(5745702, "The client driver may require an upgrade: unsupported opcode " +
                              std::to_string(static_cast<int32_t>(opcode)) +
                              ". For more details see https://dochub.mongodb.org/core/legacy-opcode-removal");
}

base::Result<ReplyMessage> decode_reply(BytesView whole) {
  auto header = decode_header(whole);
  if (!header) return header.failure();
  if (static_cast<size_t>(header->length) != whole.size() || header->opcode != OpCode::msg) {
    return failure(ErrorCode::protocol_error, "a reply is one OP_MSG");
  }
  Decoded decoded = decode_sections(*header, whole);
  if (auto* malformed = std::get_if<Malformed>(&decoded)) return malformed->failure;
  const Message& message = std::get<Message>(decoded);
  if (!message.request.sequences.empty()) return failure(ErrorCode::protocol_error, "a reply has no document sequences");
  return ReplyMessage{header->response_to, message.flags, message.request.body};
}

void store_header(char* to, const Header& header) {
  store_le(to, header.length);
  store_le(to + 4, header.request_id);
  store_le(to + 8, header.response_to);
  store_le(to + 12, static_cast<int32_t>(header.opcode));
}

Decoded decode(BytesView whole) {
  auto header = decode_request_header(whole);
  if (!header) return Malformed{header.failure(), false, {}};
  if (static_cast<size_t>(header->length) != whole.size()) {
    return Malformed{failure(ErrorCode::protocol_error, "message length and header differ"), false, {}};
  }
  if (header->opcode == OpCode::msg) return decode_msg(*header, whole);
  if (header->opcode == OpCode::query) return decode_query(*header, whole);
  return Malformed{failure(ErrorCode::protocol_error, "nested compression is not supported"), false, {}};
}

ReplyPrefix msg_prefix(int32_t request_id, int32_t response_to, uint32_t flags, size_t document_bytes) {
  ReplyPrefix prefix;
  prefix.size = header_bytes + 5;
  const size_t length = prefix.size + document_bytes + ((flags & checksum_present) ? 4 : 0);
  store_header(prefix.bytes.data(), {static_cast<int32_t>(length), request_id, response_to, OpCode::msg});
  store_le(prefix.bytes.data() + 16, flags);
  prefix.bytes[20] = 0;
  return prefix;
}

ReplyPrefix legacy_prefix(int32_t request_id, int32_t response_to, size_t document_bytes) {
  ReplyPrefix prefix;
  prefix.size = header_bytes + 20;
  store_header(prefix.bytes.data(), {static_cast<int32_t>(prefix.size + document_bytes), request_id, response_to, OpCode::reply});
  store_le<int32_t>(prefix.bytes.data() + 16, 8);  // AwaitCapable, as every server since 1.6
  store_le<int64_t>(prefix.bytes.data() + 20, 0);
  store_le<int32_t>(prefix.bytes.data() + 28, 0);
  store_le<int32_t>(prefix.bytes.data() + 32, 1);
  return prefix;
}

Bytes encode_msg(int32_t request_id, uint32_t flags, bson::DocumentView body, const std::vector<DocumentSequence>& sequences) {
  Bytes out(header_bytes, '\0');
  base::append_le(out, flags);
  out.push_back(0);
  out.append(body.bytes());
  for (const auto& sequence : sequences) {
    out.push_back(1);
    const size_t start = out.size();
    base::append_le<int32_t>(out, 0);
    out.append(sequence.name).push_back('\0');
    for (const auto& document : sequence.documents) out.append(document.bytes());
    store_le(out.data() + start, static_cast<int32_t>(out.size() - start));
  }
  const size_t length = out.size() + ((flags & checksum_present) ? 4 : 0);
  store_header(out.data(), {static_cast<int32_t>(length), request_id, 0, OpCode::msg});
  if (flags & checksum_present) base::append_le(out, crc32c(out));
  return out;
}

}  // namespace server::wire
