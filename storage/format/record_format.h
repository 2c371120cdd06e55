// How rows of the record tables are written.
//
// A row of `records` (and of `packed`, its densely filled twin) is a content in
// place, or a stub that says where it lies:
//
//   raw    | 01 | stamp | checksum 4 | past | BSON … |
//   stub   | 02 | stamp | chain | past |               chain as distance below the record's own id
//   past   | length | pre-states |                     only with flag 10 (storage/contents/row_past.h)
//
// Flag 20 of the first byte: older contents are kept in the chain table.
//
// A row of `heads` stands beside a raw row that deltas are based on:
//
//   head   | 01 | chain | ordinal | references |       flag 04 says nothing any more
//
// A row of `chains` is a content that is not, or no longer, whole in its record's row:
//
//   raw    | 01 | references | length | checksum 4 | past | BSON … |
//   delta  | 02 | references | length | checksum 4 | base | instructions … |
//   base   | distance of record ids | (its chain, with flag 20) | seconds and count of its stamp, as differences |
//
// The low two bits of the first byte are the form, the others are flags: 04 = kept
// (the past shows it), 08 = with it its pre-states, which left its record's row together, 10 = dead (no record's current
// content), 20 = the base lies in another chain, 40 and 80 = why that base was chosen. A row with a form or flag that is not
// known here is refused, never guessed at.
// docs/formats/record.md and chain.md have the same with examples.
#pragma once

#include "base/result.h"
#include "base/varint.h"
#include "dedup/content.h"
#include "storage/engine/record_id.h"
#include "storage/engine/table.h"

namespace storage {

// The name of one content of a collection.
struct ContentName {
  RecordId record = 0;
  Stamp generation = 0;

  // The rank: a base always stands above what is based on it, so chains end.
  auto operator<=>(const ContentName&) const = default;
};

std::string to_string(const ContentName& name);  // "17@655f1c2a.3", for messages

// Stamps as two short numbers: seconds since 2024 (most rows of a page share
// them) and the count within the second.
void append_stamp(Bytes& out, Stamp stamp);
std::optional<Stamp> take_stamp(BytesView& in);
// The same as distances from another one.
void append_stamp_near(Bytes& out, Stamp stamp, Stamp near);
std::optional<Stamp> take_stamp_near(BytesView& in, Stamp near);
// One that is so many seconds, and so many of the count, from another; nullopt: there is none.
inline std::optional<Stamp> stamp_near(Stamp near, int64_t seconds, int64_t count) {
  int64_t second = 0, in_second = 0;
  if (__builtin_add_overflow(static_cast<int64_t>(near >> 32), seconds, &second) ||
      __builtin_add_overflow(static_cast<int64_t>(near & UINT32_MAX), count, &in_second))
    return std::nullopt;
  if (second < 0 || second > UINT32_MAX || in_second < 0 || in_second > UINT32_MAX) return std::nullopt;
  return static_cast<Stamp>(second) << 32 | static_cast<Stamp>(in_second);
}

// What a row has to say about the past.
struct RowPast {
  BytesView pre_states;  // RowPreStates; empty: none. Borrowed.
  bool behind = false;   // older contents were kept in the chain table, and may be there still
};

struct RecordRow {
  enum class Form : uint8_t { raw = 1, stub = 2 };
  Form form = Form::raw;
  Stamp generation = 0;
  uint32_t checksum = 0;  // raw: of the content
  BytesView content;      // raw: where it lies in the row
  RecordId chain = 0;     // stub
  RowPast past;
};

// Only the header: what a scan that looks for names needs. `record` is the row's key.
base::Result<RecordRow> parse_record_row(BytesView row, RecordId record);
Bytes raw_row(Stamp generation, uint32_t checksum, BytesView content, const RowPast& past = {});
Bytes stub_row(RecordId record, Stamp generation, RecordId chain, const RowPast& past = {});

struct HeadRow {
  RecordId chain = 0;
  uint32_t ordinal = 0;     // its place in the chain as the encoder counted it
  uint64_t references = 0;  // deltas based on it
};

base::Result<HeadRow> parse_head_row(BytesView row, RecordId record);
Bytes head_row(RecordId record, const HeadRow& head);

struct ChainKey {
  RecordId chain = 0;
  ContentName content;
  auto operator<=>(const ChainKey&) const = default;
};

Bytes chain_key(const ChainKey& key);
void append_chain_key(Bytes& out, const ChainKey& key);
Bytes chain_prefix(RecordId chain);
base::Result<ChainKey> parse_chain_key(BytesView key);

struct ChainRow {
  enum class Form : uint8_t { raw = 1, delta = 2 };
  Form form = Form::raw;
  bool dead = false;
  bool kept = false;  // stays though nothing is based on it; only dead ones
  uint64_t references = 0;
  uint64_t length = 0;                          // of the content
  uint32_t checksum = 0;                        // of the content
  ChainKey base;                                // delta
  dedup::Choice choice = dedup::Choice::given;  // delta
  BytesView pre_states = {};                    // raw, kept: RowPast. Borrowed.
  BytesView payload = {};                       // raw: the content; delta: the instructions. Borrowed.

  // There for others alone: it goes with the last of them.
  bool garbage() const { return dead && !kept; }
};

base::Result<ChainRow> parse_chain_row(BytesView row, const ChainKey& key);
Bytes chain_row(const ChainKey& key, const ChainRow& row);

}  // namespace storage
