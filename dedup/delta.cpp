#include "dedup/delta.h"

#include <algorithm>

#include "base/varint.h"
#include "dedup/copies.h"

namespace dedup {

using base::append_varint;
using base::take_varint;

std::optional<std::vector<Copy>> find_copies(BytesView source, BytesView target, const DeltaOptions& options) {
  switch (options.method) {
    case DeltaMethod::resync: return find_copies_by_resync(source, target, options);
    case DeltaMethod::anchors: return find_copies_by_anchors(source, target, options);
  }
  return std::nullopt;
}

Bytes write_delta(BytesView target, const std::vector<Copy>& copies) {
  Bytes out;
  append_varint(out, target.size());
  size_t written = 0;
  int64_t expected = 0;  // a copy usually goes on where the last one ended
  for (const Copy& copy : copies) {
    append_varint(out, copy.target_at - written);
    out.append(target, written, copy.target_at - written);
    append_varint(out, copy.bytes);
    append_varint(out, base::zigzag(static_cast<int64_t>(copy.source_at) - expected));
    expected = static_cast<int64_t>(copy.source_at + copy.bytes);
    written = copy.target_at + copy.bytes;
  }
  if (written < target.size()) {
    append_varint(out, target.size() - written);
    out.append(target, written);
  }
  return out;
}

std::vector<Copy> turned_around(std::vector<Copy> copies) {
  for (Copy& copy : copies) std::swap(copy.source_at, copy.target_at);
  std::sort(copies.begin(), copies.end(), [](const Copy& a, const Copy& b) {
    return a.target_at != b.target_at ? a.target_at < b.target_at : a.bytes > b.bytes;
  });
  // What was copied twice is covered twice here: the later copy loses its front.
  constexpr size_t bytes_min = 4;
  size_t kept = 0, covered = 0;
  for (Copy copy : copies) {
    if (copy.target_at < covered) {
      const size_t cut = covered - copy.target_at;
      if (copy.bytes < cut + bytes_min) continue;
      copy = {copy.source_at + cut, copy.target_at + cut, copy.bytes - cut};
    }
    covered = copy.target_at + copy.bytes;
    copies[kept++] = copy;
  }
  copies.resize(kept);
  return copies;
}

std::optional<Bytes> encode(BytesView source, BytesView target, const DeltaOptions& options) {
  auto copies = find_copies(source, target, options);
  if (!copies) return std::nullopt;
  return write_delta(target, *copies);
}

std::optional<TwoWay> encode_two_way(BytesView source, BytesView target, const DeltaOptions& options) {
  auto copies = find_copies(source, target, options);
  if (!copies) return std::nullopt;
  TwoWay both;
  both.forward = write_delta(target, *copies);
  both.backward = write_delta(source, turned_around(std::move(*copies)));
  return both;
}

base::Result<Bytes> apply(BytesView source, BytesView delta, const DeltaLimits& limits) {
  const auto damaged = [](const char* what) {
    return base::Failure{base::ErrorCode::data_corruption_detected, std::string("damaged delta: ") + what};
  };
  const auto target_bytes = take_varint(delta);
  if (!target_bytes) return damaged("no length");
  if (*target_bytes > limits.output_bytes_max) return damaged("makes more than allowed");

  Bytes out;
  // A liar's length must not cost memory before there are instructions to back it.
  out.reserve(std::min<size_t>(*target_bytes, 2 * (source.size() + delta.size())));
  uint64_t at = 0;  // in the source; wraps are caught by the range check
  while (out.size() < *target_bytes) {
    const auto insert = take_varint(delta);
    if (!insert || *insert > delta.size() || *insert > *target_bytes - out.size()) return damaged("insert");
    out.append(delta.substr(0, *insert));
    delta.remove_prefix(*insert);
    if (out.size() == *target_bytes) break;

    const auto bytes = take_varint(delta);
    const auto jump = bytes ? take_varint(delta) : std::nullopt;
    if (!jump) return damaged("copy cut short");
    at += static_cast<uint64_t>(base::unzigzag(*jump));
    if (at > source.size() || *bytes > source.size() - at || *bytes > *target_bytes - out.size()) return damaged("copy");
    if (*bytes == 0 && *insert == 0) return damaged("instruction without effect");
    out.append(source.substr(at, *bytes));
    at += *bytes;
  }
  if (!delta.empty()) return damaged("bytes after the end");
  return out;
}

std::optional<size_t> target_bytes(BytesView delta) {
  const auto bytes = take_varint(delta);
  return bytes ? std::optional<size_t>(*bytes) : std::nullopt;
}

}  // namespace dedup
