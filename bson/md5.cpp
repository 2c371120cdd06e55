#include "bson/md5.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace bson {

static_assert(std::endian::native == std::endian::little && Md5::state_bytes == 88, "the state is saved as it stands in memory");

// libbson marks its MD5 as deprecated, since nothing should rely on its strength.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

Md5::Md5() {
  bson_md5_init(&state_);
}

void Md5::append(base::BytesView bytes) {
  constexpr size_t piece_max = size_t{1} << 30;  // libbson counts a piece's bits in 32 bits and a few more
  while (!bytes.empty()) {
    const base::BytesView piece = bytes.substr(0, std::min(bytes.size(), piece_max));
    bson_md5_append(&state_, reinterpret_cast<const uint8_t*>(piece.data()), static_cast<uint32_t>(piece.size()));
    bytes.remove_prefix(piece.size());
  }
}

std::array<uint8_t, 16> Md5::digest() const {
  bson_md5_t copy = state_;
  std::array<uint8_t, 16> digest;
  bson_md5_finish(&copy, digest.data());
  return digest;
}

#pragma GCC diagnostic pop

std::string Md5::hex() const {
  const auto bytes = digest();
  return base::to_hex({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

base::Bytes Md5::state() const {
  return base::Bytes(reinterpret_cast<const char*>(&state_), sizeof state_);
}

std::optional<Md5> Md5::from_state(base::BytesView state) {
  if (state.size() != state_bytes) return std::nullopt;
  Md5 md5;
  std::memcpy(&md5.state_, state.data(), state_bytes);
  if (md5.state_.count[0] % 8 != 0) return std::nullopt;  // only whole bytes are ever appended
  return md5;
}

}  // namespace bson
