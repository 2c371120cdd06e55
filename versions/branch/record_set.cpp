#include "versions/branch/record_set.h"

#include "base/hash.h"
#include "base/varint.h"

namespace versions {

void RecordSet::add_range(RecordId first, RecordId last) {
  for (Segment segment = segment_of(first); first <= last; first = record_at(++segment, 0)) {
    const uint64_t end = segment == segment_of(last) ? uint64_t{offset_of(last)} + 1 : uint64_t{1} << 32;
    parts_[segment].addRange(offset_of(first), end);
  }
}

void RecordSet::remove(RecordId record) {
  const auto found = parts_.find(segment_of(record));
  if (found == parts_.end()) return;
  found->second.remove(offset_of(record));
  if (found->second.isEmpty()) parts_.erase(found);
}

bool RecordSet::contains(RecordId record) const {
  const Bitmap* bitmap = part(segment_of(record));
  return bitmap && bitmap->contains(offset_of(record));
}

uint64_t RecordSet::count() const {
  uint64_t count = 0;
  for (const auto& [segment, bitmap] : parts_) count += bitmap.cardinality();
  return count;
}

RecordSet& RecordSet::operator^=(const RecordSet& other) {
  for (const auto& [segment, bitmap] : other.parts_) {
    const auto [mine, is_new] = parts_.try_emplace(segment, bitmap);
    if (is_new) continue;
    mine->second ^= bitmap;
    if (mine->second.isEmpty()) parts_.erase(mine);
  }
  return *this;
}

RecordSet& RecordSet::operator|=(const RecordSet& other) {
  for (const auto& [segment, bitmap] : other.parts_) parts_[segment] |= bitmap;
  return *this;
}

RecordSet& RecordSet::operator&=(const RecordSet& other) {
  for (auto mine = parts_.begin(); mine != parts_.end();) {
    const Bitmap* theirs = other.part(mine->first);
    if (theirs) mine->second &= *theirs;
    mine = theirs && !mine->second.isEmpty() ? std::next(mine) : parts_.erase(mine);
  }
  return *this;
}

RecordSet& RecordSet::operator-=(const RecordSet& other) {
  for (auto mine = parts_.begin(); mine != parts_.end();) {
    if (const Bitmap* theirs = other.part(mine->first)) mine->second -= *theirs;
    mine = mine->second.isEmpty() ? parts_.erase(mine) : std::next(mine);
  }
  return *this;
}

const Bitmap* RecordSet::part(Segment segment) const {
  const auto found = parts_.find(segment);
  return found == parts_.end() ? nullptr : &found->second;
}

void RecordSet::set_part(Segment segment, Bitmap bitmap) {
  if (bitmap.isEmpty()) {
    parts_.erase(segment);
  } else {
    parts_[segment] = std::move(bitmap);
  }
}

size_t RecordSet::bytes() const {
  size_t bytes = 0;
  for (const auto& [segment, bitmap] : parts_) bytes += 128 + bitmap.getSizeInBytes();
  return bytes;
}

Bytes write_set(const RecordSet& set) {
  Bytes out;
  base::append_varint(out, set.parts().size());
  Segment before = 0;
  for (const auto& [segment, bitmap] : set.parts()) {
    Bitmap packed = bitmap;
    packed.runOptimize();
    Bytes bytes(packed.getSizeInBytes(), '\0');
    packed.write(bytes.data());
    base::append_varint(out, segment - before);
    base::append_varint(out, bytes.size());
    base::append_le(out, base::checksum32(bytes));
    out += bytes;
    before = segment;
  }
  return out;
}

namespace {

base::Failure damaged() {
  return {base::ErrorCode::data_corruption_detected, "a set of records can't be read"};
}

struct PartBytes {
  Segment segment;
  uint32_t checksum;
  BytesView bytes;
};

// `before` is the segment of the part before; nullopt for the first.
std::optional<PartBytes> take_part(BytesView& in, std::optional<Segment> before) {
  const auto gap = base::take_varint(in);
  const auto bytes = gap ? base::take_varint(in) : std::nullopt;
  if (!bytes || in.size() < 4 || in.size() - 4 < *bytes) return std::nullopt;
  // Each segment once: which of two parts counted would depend on who reads.
  const Segment from = before.value_or(0);
  if (*gap > UINT32_MAX - from || (before && *gap == 0)) return std::nullopt;
  const PartBytes part{static_cast<Segment>(from + *gap), base::load_le<uint32_t>(in.data()), in.substr(4, *bytes)};
  in.remove_prefix(4 + *bytes);
  return part;
}

std::optional<Bitmap> unpack(const PartBytes& part) {
  // The checksum has matched, so the bytes are as CRoaring wrote them.
  if (base::checksum32(part.bytes) != part.checksum) return std::nullopt;
  roaring_bitmap_t* const bitmap = roaring_bitmap_portable_deserialize_safe(part.bytes.data(), part.bytes.size());
  return bitmap ? std::optional(Bitmap(bitmap)) : std::nullopt;
}

}  // namespace

base::Result<RecordSet> read_set(BytesView bytes) {
  RecordSet set;
  const auto count = base::take_varint(bytes);
  if (!count) return damaged();
  std::optional<Segment> before;
  for (uint64_t i = 0; i < *count; ++i) {
    const auto part = take_part(bytes, before);
    auto bitmap = part ? unpack(*part) : std::nullopt;
    if (!bitmap) return damaged();
    set.set_part(part->segment, std::move(*bitmap));
    before = part->segment;
  }
  if (!bytes.empty()) return damaged();
  return set;
}

base::Result<Bitmap> read_part(BytesView bytes, Segment segment) {
  const auto count = base::take_varint(bytes);
  if (!count) return damaged();
  std::optional<Segment> before;
  for (uint64_t i = 0; i < *count; ++i) {
    const auto part = take_part(bytes, before);
    if (!part) return damaged();
    if (part->segment == segment) {
      auto bitmap = unpack(*part);
      if (!bitmap) return damaged();
      return std::move(*bitmap);
    }
    if (part->segment > segment) break;
    before = part->segment;
  }
  return Bitmap();
}

}  // namespace versions
