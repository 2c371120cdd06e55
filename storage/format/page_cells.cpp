#include "storage/format/page_cells.h"

#include <algorithm>
#include <bit>

namespace storage {
namespace {

constexpr size_t short_max = 63;
constexpr size_t prefix_min = 4;  // this is WiredTiger's prefix_compression_min
constexpr uint8_t kind_mask = 3, short_key = 1, short_key_prefixed = 2, short_value = 3;
constexpr uint8_t long_key = 0x50, long_key_prefixed = 0x70, long_value = 0x80;
constexpr uint8_t windowed = 0x08;

// This reads one of WiredTiger's packed unsigned numbers (intpack); lengths are written as such numbers.
std::optional<uint64_t> take_packed(BytesView& in) {
  if (in.empty()) return std::nullopt;
  const auto first = static_cast<uint8_t>(in[0]);
  uint64_t value = 0;
  size_t more = 0;
  if ((first & 0xc0) == 0x80) {
    value = first & 0x3f;
  } else if ((first & 0xe0) == 0xc0) {
    value = first & 0x1f;
    more = 1;
  } else if ((first & 0xf0) == 0xe0) {
    more = first & 0x0f;
  } else {
    return std::nullopt;
  }
  if (more > 8 || in.size() <= more) return std::nullopt;
  for (size_t i = 1; i <= more; ++i) value = value << 8 | static_cast<uint8_t>(in[i]);
  if ((first & 0xe0) == 0xc0) value += 0x40;
  if ((first & 0xf0) == 0xe0) value += 0x2040;
  in.remove_prefix(1 + more);
  return value;
}

void append_packed(Bytes& out, uint64_t value) {
  if (value < 0x40) {
    out.push_back(static_cast<char>(0x80 | value));
  } else if (value < 0x2040) {
    value -= 0x40;
    out.push_back(static_cast<char>(0xc0 | value >> 8));
    out.push_back(static_cast<char>(value));
  } else {
    value -= 0x2040;
    const int bytes = std::max(1, (64 - std::countl_zero(value) + 7) / 8);
    out.push_back(static_cast<char>(0xe0 | bytes));
    for (int at = bytes - 1; at >= 0; --at) out.push_back(static_cast<char>(value >> (8 * at)));
  }
}

}  // namespace

std::optional<PageCell> take_cell(BytesView& in) {
  if (in.empty()) return std::nullopt;
  BytesView rest = in.substr(1);
  const auto first = static_cast<uint8_t>(in[0]);
  PageCell cell;
  uint64_t bytes = first >> 2;
  const auto take_prefix = [&] {
    if (rest.empty()) return false;
    cell.prefix = static_cast<uint8_t>(rest[0]);
    rest.remove_prefix(1);
    return cell.prefix != 0;
  };
  switch (first & kind_mask) {
    case short_key: cell.key = true; break;
    case short_key_prefixed:
      cell.key = true;
      if (!take_prefix()) return std::nullopt;
      break;
    case short_value: break;
    default: {
      const uint8_t kind = first & ~windowed;
      cell.key = kind != long_value;
      if (cell.key && (first & windowed)) return std::nullopt;
      if (kind == long_key_prefixed ? !take_prefix() : kind != long_key && kind != long_value) return std::nullopt;
      if (first & windowed) {
        if (rest.empty()) return std::nullopt;
        // The lowest bit says that the value was prepared; each of the next six bits says that a number follows.
        const auto window = static_cast<uint8_t>(rest[0]);
        rest.remove_prefix(1);
        if (window & 0x80) return std::nullopt;
        for (int numbers = std::popcount(static_cast<unsigned>(window & 0x7e)); numbers > 0; --numbers) {
          if (!take_packed(rest)) return std::nullopt;
        }
      }
      const auto length = take_packed(rest);
      if (!length || *length > UINT32_MAX) return std::nullopt;
      // A window makes even a short value a long cell.
      bytes = *length + ((first & windowed) ? 0 : short_max + 1);
    }
  }
  if (bytes > rest.size()) return std::nullopt;
  cell.header = in.substr(0, in.size() - rest.size());
  cell.data = rest.substr(0, bytes);
  if (cell.key && cell.header != key_header(cell.prefix, bytes)) return std::nullopt;
  in = rest.substr(bytes);
  return cell;
}

Bytes key_header(uint8_t prefix, size_t bytes) {
  Bytes out;
  if (bytes <= short_max) {
    out.push_back(static_cast<char>(bytes << 2 | (prefix ? short_key_prefixed : short_key)));
    if (prefix) out.push_back(static_cast<char>(prefix));
    return out;
  }
  out.push_back(static_cast<char>(prefix ? long_key_prefixed : long_key));
  if (prefix) out.push_back(static_cast<char>(prefix));
  append_packed(out, bytes - short_max - 1);
  return out;
}

Bytes value_header(size_t bytes) {
  Bytes out;
  if (bytes <= short_max) {
    out.push_back(static_cast<char>(bytes << 2 | short_value));
    return out;
  }
  out.push_back(static_cast<char>(long_value));
  append_packed(out, bytes - short_max - 1);
  return out;
}

uint8_t usual_prefix(size_t same) {
  return same < prefix_min ? 0 : static_cast<uint8_t>(std::min<size_t>(same, UINT8_MAX));
}

}  // namespace storage
