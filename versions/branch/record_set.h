// A RecordSet is a set of records: a compressed bitmap of offsets for each segment.
//
//   RecordId   | 0 | segment 31 | offset 32 |
//
// Offsets are as wide as a Roaring bitmap's numbers. Records from before a collection's first branch lie in segment 0, and in the
// next few segments if there are more than 2^32 of them. The segments that branches write into begin at `first_segment`.
#pragma once

#include <map>
#include <roaring/roaring.hh>

#include "base/bytes.h"
#include "base/result.h"
#include "storage/engine/record_id.h"

namespace versions {

using base::Bytes;
using base::BytesView;
using storage::RecordId;
using Bitmap = ::Roaring;
using Segment = uint32_t;

inline constexpr Segment first_segment = 1 << 16;
inline Segment segment_of(RecordId record) {
  return static_cast<Segment>(record >> 32);
}
inline uint32_t offset_of(RecordId record) {
  return static_cast<uint32_t>(record);
}
inline RecordId record_at(Segment segment, uint32_t offset) {
  return static_cast<RecordId>(segment) << 32 | offset;
}

// Segments without a record are not in the set.
class RecordSet {
 public:
  void add(RecordId record) { parts_[segment_of(record)].add(offset_of(record)); }
  // Adds everything from `first` to `last`, both included.
  void add_range(RecordId first, RecordId last);
  void remove(RecordId record);
  bool contains(RecordId record) const;
  bool empty() const { return parts_.empty(); }
  uint64_t count() const;

  RecordSet& operator^=(const RecordSet& other);
  RecordSet& operator|=(const RecordSet& other);
  RecordSet& operator&=(const RecordSet& other);
  RecordSet& operator-=(const RecordSet& other);
  bool operator==(const RecordSet& other) const { return parts_ == other.parts_; }

  const std::map<Segment, Bitmap>& parts() const { return parts_; }
  const Bitmap* part(Segment segment) const;
  // Replaces the segment's bitmap; an empty one removes the segment.
  void set_part(Segment segment, Bitmap bitmap);
  size_t bytes() const;  // memory that it takes, estimated

  // Calls `each` with each RecordId, in ascending order.
  template <class Each>
  void for_each(Each&& each) const {
    for (const auto& [segment, bitmap] : parts_) {
      for (const uint32_t offset : bitmap) each(record_at(segment, offset));
    }
  }

 private:
  std::map<Segment, Bitmap> parts_;
};

// The bytes are described in docs/formats/branches.md.
Bytes write_set(const RecordSet& set);
// Both fail with DataCorruptionDetected for bytes that are cut short or have wrong checksums.
base::Result<RecordSet> read_set(BytesView bytes);
// Reads one segment without unpacking the others. The bitmap is empty if the set has nothing in the segment.
base::Result<Bitmap> read_part(BytesView bytes, Segment segment);

}  // namespace versions
