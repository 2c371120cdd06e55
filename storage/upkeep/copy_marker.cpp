#include "storage/upkeep/copy_marker.h"

#include <algorithm>

#include "base/error.h"
#include "base/hash.h"
#include "base/varint.h"
#include "storage/engine/engine_files.h"

namespace storage {
namespace {

using base::Bytes;
using base::BytesView;
using base::ErrorCode;
using base::OperationError;

constexpr char magic[] = "PCPY";
constexpr char version = 1;
constexpr size_t head_bytes = 5;

std::optional<BytesView> take_text(BytesView& in) {
  const auto length = base::take_varint(in);
  if (!length || *length > in.size()) return std::nullopt;
  const BytesView text = in.substr(0, *length);
  in.remove_prefix(*length);
  return text;
}

}  // namespace

bool CopyMarker::operator==(const CopyMarker& other) const {
  const auto same = [](const BackupFile& a, const BackupFile& b) { return a.name == b.name && a.bytes == b.bytes; };
  return carried == other.carried && std::equal(files.begin(), files.end(), other.files.begin(), other.files.end(), same);
}

Bytes encode_marker(const CopyMarker& marker) {
  Bytes out(magic, 4);
  out.push_back(version);
  base::append_varint(out, marker.files.size());
  for (const BackupFile& file : marker.files) {
    base::append_varint(out, file.name.size());
    out += file.name;
    base::append_varint(out, file.bytes);
  }
  base::append_varint(out, marker.carried.size());
  out += marker.carried;
  base::append_le(out, base::hash64(out));
  return out;
}

std::optional<CopyMarker> decode_marker(BytesView bytes) {
  if (bytes.size() < head_bytes + sizeof(uint64_t) || bytes.substr(0, 4) != BytesView(magic, 4)) return std::nullopt;
  const BytesView body = bytes.substr(0, bytes.size() - sizeof(uint64_t));
  if (base::load_le<uint64_t>(body.data() + body.size()) != base::hash64(body)) return std::nullopt;
  if (bytes[4] != version) {
    throw OperationError(ErrorCode::unsupported_format, "the marker of a copied data directory has format version " +
                                                            std::to_string(static_cast<uint8_t>(bytes[4])) +
                                                            "; this program reads version " + std::to_string(version));
  }
  BytesView rest = body.substr(head_bytes);
  const auto count = base::take_varint(rest);
  if (!count) return std::nullopt;
  CopyMarker marker;
  for (uint64_t left = *count; left > 0; --left) {
    const auto name = take_text(rest);
    const auto size = name ? base::take_varint(rest) : std::nullopt;
    if (!size || !is_engine_file(*name)) return std::nullopt;
    marker.files.push_back({std::string(*name), *size});
  }
  const auto carried = take_text(rest);
  if (!carried || !rest.empty()) return std::nullopt;
  marker.carried = *carried;
  return marker;
}

}  // namespace storage
