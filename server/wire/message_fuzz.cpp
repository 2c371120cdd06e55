#include "server/wire/compression.h"
#include "server/wire/message.h"

// Bytes as they would come from a socket: any length, any opcode.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace server::wire;
  Bytes bytes(reinterpret_cast<const char*>(data), size);
  if (bytes.size() < header_bytes) return 0;
  base::store_le(bytes.data(), static_cast<int32_t>(bytes.size()));
  Bytes inside;
  if (decode_header(bytes).or_throw().opcode == OpCode::compressed) {
    auto unpacked = unpack(bytes);
    if (!unpacked) return 0;
    inside = std::move(unpacked->message);
  }
  const Decoded decoded = decode(inside.empty() ? bytes : inside);
  if (const auto* message = std::get_if<Message>(&decoded)) {
    for (const auto& field : message->request.body) (void)field.truthy();
    for (const auto& sequence : message->request.sequences) {
      for (const auto& document : sequence.documents) (void)document.count();
    }
  }
  return 0;
}
