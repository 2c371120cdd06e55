// A RowPage has the mappings of 64 consecutive rows: it says which of the rows have one, and has their contents packed.
//
//   rows     ...1..11   of rows 64 * number to 64 * number + 63
//   packed   a b c      their contents, in the order of rows
//
// One operation on 64 bits compares two pages of the same rows, so a scan passes over rows that it knows without looking at each.
#pragma once

#include <bit>
#include <optional>
#include <span>

#include "versions/past/packed.h"

namespace versions::past {

// Returns for each byte how many bits are set in it and the lower ones together. (std::popcount is a function call unless the
// processor is known to have an instruction for it.)
inline uint64_t bits_up_to_bytes(uint64_t bits) {
  bits -= bits >> 1 & 0x5555555555555555;
  bits = (bits & 0x3333333333333333) + (bits >> 2 & 0x3333333333333333);
  return ((bits + (bits >> 4)) & 0x0f0f0f0f0f0f0f0f) * 0x0101010101010101;
}
inline unsigned bits_in(uint64_t bits) {
  return static_cast<unsigned>(bits_up_to_bytes(bits) >> 56);
}

// Tells how many rows of a page come before one of them, for somebody who asks about many.
class RowRanks {
 public:
  explicit RowRanks(uint64_t rows) : rows_(rows), before_bytes_(bits_up_to_bytes(rows) << 8) {}
  unsigned of(unsigned place) const {
    const unsigned byte = place & 56;
    unsigned within = static_cast<unsigned>(rows_ >> byte) & ((1u << (place & 7)) - 1);
    within -= within >> 1 & 0x55;
    within = (within & 0x33) + (within >> 2 & 0x33);
    return static_cast<unsigned>(before_bytes_ >> byte & 0xff) + ((within + (within >> 4)) & 0x0f);
  }

 private:
  uint64_t rows_, before_bytes_;
};

struct RowPage {
  static constexpr unsigned rows_max = 64;

  uint64_t number = 0;
  uint64_t rows = 0;  // never 0 in a node
  StampColumn contents;
  uint32_t packed = 0;  // where the contents begin in what the page was read from

  static uint64_t number_of(RecordId row) { return static_cast<uint64_t>(row) / rows_max; }
  static unsigned place_of(RecordId row) { return static_cast<uint64_t>(row) % rows_max; }
  static RecordId row_of(uint64_t number, unsigned place) { return static_cast<RecordId>(number * rows_max + place); }
  // Returns how many of the rows come before the one in a place.
  static unsigned rank(uint64_t rows, unsigned place) { return bits_in(rows & ((uint64_t{1} << place) - 1)); }
};

// Calls `visit(place)` for each row of a page, in their order.
template <class Visit>
void each_place(uint64_t rows, Visit&& visit) {
  for (; rows != 0; rows &= rows - 1) visit(static_cast<unsigned>(std::countr_zero(rows)));
}

// docs/formats/past.md describes the bytes. `contents` are those of the rows, in their order; `before` is the page before in the
// same part. Returns the page as it lies in `out`.
RowPage append_page(base::Bytes& out, const RowPage* before, uint64_t number, uint64_t rows, std::span<const Stamp> contents);
// Takes a page off the front of `in`, which lies behind `from` and has `packed_slack` behind itself. False: it is damaged.
bool take_page(base::BytesView& in, const char* from, const RowPage* before, RowPage& page);

// Mappings that a scan meets together; those that count first are in front.
struct MappingRun {
  std::span<const Mapping> mappings;  // in the order in which they were made; or
  std::span<const RowPage> pages;
  const char* from = nullptr;  // the base of `packed`
  size_t in_pages = 0;         // how many mappings there are

  bool empty() const { return mappings.empty() && pages.empty(); }
  size_t size() const { return mappings.size() + in_pages; }
  std::optional<Stamp> find(RecordId row) const;
  template <class Visit>
  void each(Visit&& visit) const {
    for (const Mapping& mapping : mappings) visit(mapping);
    for (const RowPage& page : pages) {
      size_t i = 0;
      each_place(page.rows, [&](unsigned place) {
        visit(Mapping{RowPage::row_of(page.number, place), page.contents.at(from + page.packed, i++)});
      });
    }
  }
};

}  // namespace versions::past
