// These functions write and parse the rows of the record tables.
//
// A row of `records` (and of `packed`, its densely filled twin) holds a content, or is a stub that leads to the chain where the
// content lies:
//
//   raw    | 01 | timestamp | checksum 4 | past | BSON … |
//   stub   | 02 | timestamp | chain | past |           chain as distance below the record's own id
//   past   | length | pre-states |                     only with flag 10 (storage/contents/row_past.h)
//
// Flag 20 of the first byte says that older contents are kept in the chain table.
//
// A row of `heads` accompanies a raw row that deltas are based on:
//
//   head   | 01 | chain | ordinal | references |       flag 04 says nothing any more
//
// A row of `chains` is a content that its record's row doesn't hold whole, or doesn't any more:
//
//   raw    | 01 | references | length | checksum 4 | past | BSON … |
//   delta  | 02 | references | length | checksum 4 | base | instructions … |
//   base   | distance of record ids | (its chain, with flag 20) | seconds and count of its timestamp, as differences |
//
// The low two bits of the first byte are the form, and the others are flags. 04 says that the content is kept, because the past
// shows it. 08 says that the content's pre-states are with it; they left the record's row together with it. 10 says that the
// content is dead (it is no record's current content), and 20 that the base lies in another chain. 40 and 80 say why that base
// was chosen. A row with an unknown form or flag is refused; its meaning is never guessed. docs/formats/record.md and chain.md
// describe the same with examples.
#pragma once

#include "base/result.h"
#include "base/varint.h"
#include "dedup/content.h"
#include "storage/engine/record_id.h"
#include "storage/engine/table.h"

namespace storage {

// A ContentName is the name of one content of a collection.
struct ContentName {
  RecordId record = 0;
  Stamp generation = 0;

  // This order is the rank: a base always ranks above the contents based on it, so chains end.
  auto operator<=>(const ContentName&) const = default;
};

std::string to_string(const ContentName& name);  // it makes for example "17@655f1c2a.3", for messages

// These write and read a timestamp as two short numbers: the seconds since 2024 (most rows of a page share them) and the count
// within the second.
void append_stamp(Bytes& out, Stamp stamp);
std::optional<Stamp> take_stamp(BytesView& in);
// These do the same with distances from another timestamp.
void append_stamp_near(Bytes& out, Stamp stamp, Stamp near);
std::optional<Stamp> take_stamp_near(BytesView& in, Stamp near);
// Returns the timestamp that is so many seconds, and so much of the count, away from `near`, or nullopt if there is none.
inline std::optional<Stamp> stamp_near(Stamp near, int64_t seconds, int64_t count) {
  int64_t second = 0, in_second = 0;
  if (__builtin_add_overflow(static_cast<int64_t>(near >> 32), seconds, &second) ||
      __builtin_add_overflow(static_cast<int64_t>(near & UINT32_MAX), count, &in_second))
    return std::nullopt;
  if (second < 0 || second > UINT32_MAX || in_second < 0 || in_second > UINT32_MAX) return std::nullopt;
  return static_cast<Stamp>(second) << 32 | static_cast<Stamp>(in_second);
}

// This struct holds the part of a row that is about the past.
struct RowPast {
  BytesView pre_states;  // RowPreStates; it is empty if there are none, and borrowed
  bool behind = false;   // older contents were kept in the chain table, and may still be there
};

struct RecordRow {
  enum class Form : uint8_t { raw = 1, stub = 2 };
  Form form = Form::raw;
  Stamp generation = 0;
  uint32_t checksum = 0;  // only a raw row has it, for the content
  BytesView content;      // only a raw row has it, as a view into the row
  RecordId chain = 0;     // only a stub has it
  RowPast past;
};

// Parses only the header, which is enough for a scan that looks for names. `record` is the row's key.
base::Result<RecordRow> parse_record_row(BytesView row, RecordId record);
Bytes raw_row(Stamp generation, uint32_t checksum, BytesView content, const RowPast& past = {});
Bytes stub_row(RecordId record, Stamp generation, RecordId chain, const RowPast& past = {});

struct HeadRow {
  RecordId chain = 0;
  uint32_t ordinal = 0;     // this is its place in the chain as the encoder counted it
  uint64_t references = 0;  // so many deltas are based on it
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
  bool kept = false;  // it stays though nothing is based on it; only a dead content can be kept
  uint64_t references = 0;
  uint64_t length = 0;                          // it is the content's length
  uint32_t checksum = 0;                        // it is the content's checksum
  ChainKey base;                                // only a delta has it
  dedup::Choice choice = dedup::Choice::given;  // only a delta has it
  BytesView pre_states = {};                    // only a raw, kept row has it: see RowPast; it is borrowed
  BytesView payload = {};                       // it is the content (raw) or the instructions (delta), and is borrowed

  // The content is kept only for the deltas based on it, and is removed with the last of them.
  bool garbage() const { return dead && !kept; }
};

base::Result<ChainRow> parse_chain_row(BytesView row, const ChainKey& key);
Bytes chain_row(const ChainKey& key, const ChainRow& row);

}  // namespace storage
