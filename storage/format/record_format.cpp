#include "storage/format/record_format.h"

namespace storage {

using base::append_le;
using base::append_varint;
using base::ErrorCode;
using base::Failure;
using base::Result;
using base::take_varint;
using base::unzigzag;
using base::zigzag;

namespace {

constexpr int64_t epoch_seconds = 1704067200;  // 2024-01-01
constexpr uint8_t form_mask = 0x03;
constexpr uint8_t flag_kept = 0x04;
constexpr uint8_t flag_group = 0x08;
constexpr uint8_t flag_dead = 0x10;
constexpr uint8_t flag_other_chain = 0x20;
constexpr int choice_shift = 6;
constexpr uint8_t flag_pre_states = 0x10, flag_behind = 0x20;  // these are flags of a record's row
constexpr uint8_t head_form = 1, head_flag_ignored = 4;

int64_t seconds(Stamp stamp) {
  return static_cast<int64_t>(stamp >> 32);
}
uint32_t count(Stamp stamp) {
  return static_cast<uint32_t>(stamp);
}

Failure corrupt(const std::string& what) {
  return {ErrorCode::data_corruption_detected, what};
}

std::optional<int64_t> take_zigzag(BytesView& in) {
  const auto value = take_varint(in);
  if (!value) return std::nullopt;
  return unzigzag(*value);
}

// Returns `from` plus the distance, if the sum is a record id.
std::optional<RecordId> take_record(BytesView& in, RecordId from) {
  const auto distance = take_zigzag(in);
  RecordId id = 0;
  if (!distance || __builtin_add_overflow(from, *distance, &id) || id < record_id_min) return std::nullopt;
  return id;
}

// Ids are positive, so their differences don't overflow.
void append_record(Bytes& out, RecordId id, RecordId from) {
  append_varint(out, zigzag(id - from));
}

std::optional<uint32_t> take_u32(BytesView& in) {
  if (in.size() < 4) return std::nullopt;
  const auto value = base::load_le<uint32_t>(in.data());
  in.remove_prefix(4);
  return value;
}

std::optional<uint8_t> take_byte(BytesView& in) {
  if (in.empty()) return std::nullopt;
  const auto value = static_cast<uint8_t>(in.front());
  in.remove_prefix(1);
  return value;
}

}  // namespace

std::string to_string(const ContentName& name) {
  Bytes seconds_hex;
  for (int shift = 28; shift >= 0; shift -= 4) seconds_hex.push_back("0123456789abcdef"[seconds(name.generation) >> shift & 15]);
  return std::to_string(name.record) + "@" + seconds_hex + "." + std::to_string(count(name.generation));
}

void append_stamp(Bytes& out, Stamp stamp) {
  append_varint(out, zigzag(seconds(stamp) - epoch_seconds));
  append_varint(out, count(stamp));
}

std::optional<Stamp> take_stamp(BytesView& in) {
  const auto distance = take_zigzag(in);
  const auto in_second = take_varint(in);
  if (!distance || !in_second || *in_second > UINT32_MAX) return std::nullopt;
  return stamp_near(static_cast<Stamp>(epoch_seconds) << 32, *distance, static_cast<int64_t>(*in_second));
}

void append_stamp_near(Bytes& out, Stamp stamp, Stamp near) {
  append_varint(out, zigzag(seconds(stamp) - seconds(near)));
  append_varint(out, zigzag(static_cast<int64_t>(count(stamp)) - static_cast<int64_t>(count(near))));
}

std::optional<Stamp> take_stamp_near(BytesView& in, Stamp near) {
  const auto second_distance = take_zigzag(in);
  const auto count_distance = take_zigzag(in);
  return second_distance && count_distance ? stamp_near(near, *second_distance, *count_distance) : std::nullopt;
}

Result<RecordRow> parse_record_row(BytesView row, RecordId record) {
  const auto form = take_byte(row);
  const auto stamp = form ? take_stamp(row) : std::nullopt;
  if (!stamp) return corrupt("a record's row is cut short");
  RecordRow parsed;
  parsed.generation = *stamp;
  parsed.past.behind = *form & flag_behind;
  parsed.form = static_cast<RecordRow::Form>(*form & ~(flag_pre_states | flag_behind));
  if (parsed.form == RecordRow::Form::raw) {
    const auto checksum = take_u32(row);
    if (!checksum) return corrupt("a record's row is cut short");
    parsed.checksum = *checksum;
  } else if (parsed.form == RecordRow::Form::stub) {
    const auto chain = take_record(row, record);
    if (!chain) return corrupt("a record's stub is damaged");
    parsed.chain = *chain;
  } else {
    return corrupt("a record's row has the unknown form " + std::to_string(*form));
  }
  if (*form & flag_pre_states) {
    const auto bytes = take_varint(row);
    if (!bytes || *bytes == 0 || *bytes > row.size()) return corrupt("the pre-states in a record's row are cut short");
    parsed.past.pre_states = row.substr(0, *bytes);
    row.remove_prefix(*bytes);
  }
  if (parsed.form == RecordRow::Form::raw) {
    parsed.content = row;
  } else if (!row.empty()) {
    return corrupt("a record's stub is damaged");
  }
  return parsed;
}

namespace {

char first_byte(RecordRow::Form form, const RowPast& past) {
  return static_cast<char>(static_cast<uint8_t>(form) | (past.pre_states.empty() ? 0 : flag_pre_states) |
                           (past.behind ? flag_behind : 0));
}

void append_past(Bytes& row, const RowPast& past) {
  if (past.pre_states.empty()) return;
  append_varint(row, past.pre_states.size());
  row.append(past.pre_states);
}

}  // namespace

Bytes raw_row(Stamp generation, uint32_t checksum, BytesView content, const RowPast& past) {
  Bytes row;
  row.reserve(content.size() + past.pre_states.size() + 24);
  row.push_back(first_byte(RecordRow::Form::raw, past));
  append_stamp(row, generation);
  append_le(row, checksum);
  append_past(row, past);
  row.append(content);
  return row;
}

Bytes stub_row(RecordId record, Stamp generation, RecordId chain, const RowPast& past) {
  Bytes row;
  row.push_back(first_byte(RecordRow::Form::stub, past));
  append_stamp(row, generation);
  append_record(row, chain, record);
  append_past(row, past);
  return row;
}

Result<HeadRow> parse_head_row(BytesView row, RecordId record) {
  const auto form = take_byte(row);
  if (!form) return corrupt("a head's row is empty");
  if ((*form & ~head_flag_ignored) != head_form) return corrupt("a head's row has the unknown form " + std::to_string(*form));
  const auto chain = take_record(row, record);
  const auto ordinal = take_varint(row);
  const auto references = take_varint(row);
  if (!chain || !ordinal || !references || !row.empty() || *ordinal > UINT32_MAX) return corrupt("a head's row is damaged");
  return HeadRow{*chain, static_cast<uint32_t>(*ordinal), *references};
}

Bytes head_row(RecordId record, const HeadRow& head) {
  Bytes row;
  row.push_back(static_cast<char>(head_form));
  append_record(row, head.chain, record);
  append_varint(row, head.ordinal);
  append_varint(row, head.references);
  return row;
}

namespace {

// The encoding is sorted as the numbers are, and as short as they allow: a length byte precedes the number's own bytes, highest
// first.
void append_ordered(Bytes& out, uint64_t value) {
  const int bytes = (64 - std::countl_zero(value) + 7) / 8;
  char number[1 + sizeof value] = {static_cast<char>(bytes)};
  if (bytes > 0) base::store_le(number + 1, base::byte_swap(value << (64 - 8 * bytes)));
  out.append(number, 1 + static_cast<size_t>(bytes));
}

std::optional<uint64_t> take_ordered(BytesView& in) {
  const auto bytes = take_byte(in);
  if (!bytes || *bytes > 8 || in.size() < *bytes) return std::nullopt;
  uint64_t value = 0;
  for (int at = 0; at < *bytes; ++at) value = value << 8 | static_cast<uint8_t>(in[at]);
  if (*bytes != 0 && in[0] == 0) return std::nullopt;  // each number has one key
  in.remove_prefix(*bytes);
  return value;
}

}  // namespace

Bytes chain_prefix(RecordId chain) {
  Bytes out;
  append_ordered(out, static_cast<uint64_t>(chain));
  return out;
}

void append_chain_key(Bytes& out, const ChainKey& key) {
  append_ordered(out, static_cast<uint64_t>(key.chain));
  append_ordered(out, static_cast<uint64_t>(key.content.record));
  append_ordered(out, key.content.generation);
}

Bytes chain_key(const ChainKey& key) {
  Bytes out;
  out.reserve(3 * (1 + sizeof(uint64_t)));
  append_chain_key(out, key);
  return out;
}

Result<ChainKey> parse_chain_key(BytesView key) {
  const auto chain = take_ordered(key);
  const auto record = take_ordered(key);
  const auto generation = take_ordered(key);
  if (!chain || !record || !generation || !key.empty() || *chain > INT64_MAX || *record > INT64_MAX || *chain == 0 ||
      *record == 0) {
    return corrupt("a key of the chain table is damaged");
  }
  return ChainKey{static_cast<RecordId>(*chain), {static_cast<RecordId>(*record), *generation}};
}

Result<ChainRow> parse_chain_row(BytesView row, const ChainKey& key) {
  const auto first = take_byte(row);
  if (!first) return corrupt("a row of the chain table is empty");
  const uint8_t form = *first & form_mask;
  const uint8_t flags = *first & ~form_mask;
  const bool delta = form == static_cast<uint8_t>(ChainRow::Form::delta);
  if ((!delta && form != static_cast<uint8_t>(ChainRow::Form::raw)) ||
      (!delta && (flags & ~(flag_dead | flag_kept | flag_group))) || (delta && (flags & flag_group)) ||
      ((flags & flag_group) && !(flags & flag_kept)) || ((flags & flag_kept) && !(flags & flag_dead))) {
    return corrupt("a row of the chain table has the unknown form " + std::to_string(*first));
  }
  const auto references = take_varint(row);
  const auto length = references ? take_varint(row) : std::nullopt;
  const auto checksum = length ? take_u32(row) : std::nullopt;
  if (!checksum) return corrupt("a row of the chain table is cut short");

  ChainRow parsed;
  parsed.form = delta ? ChainRow::Form::delta : ChainRow::Form::raw;
  parsed.dead = flags & flag_dead;
  parsed.kept = flags & flag_kept;
  parsed.choice = static_cast<dedup::Choice>(flags >> choice_shift);
  parsed.references = *references;
  parsed.length = *length;
  parsed.checksum = *checksum;
  if (delta) {
    const auto record = take_record(row, key.content.record);
    const auto chain = !record ? std::nullopt : (flags & flag_other_chain) ? take_record(row, *record) : std::optional(key.chain);
    const auto generation = chain ? take_stamp_near(row, key.content.generation) : std::nullopt;
    if (!generation) return corrupt("the base of a row of the chain table is damaged");
    parsed.base = {*chain, {*record, *generation}};
    // This is checked here, so that code that follows bases can't go round in a circle.
    if (parsed.base.content <= key.content) return corrupt("a content is based on one that does not stand above it");
  } else {
    if (flags & flag_group) {
      const auto bytes = take_varint(row);
      if (!bytes || *bytes == 0 || *bytes > row.size())
        return corrupt("the pre-states in a row of the chain table are cut short");
      parsed.pre_states = row.substr(0, *bytes);
      row.remove_prefix(*bytes);
    }
    if (row.size() != parsed.length) return corrupt("a retained content is not as long as its row says");
  }
  parsed.payload = row;
  return parsed;
}

Bytes chain_row(const ChainKey& key, const ChainRow& row) {
  const bool delta = row.form == ChainRow::Form::delta;
  const bool other_chain = delta && row.base.chain != key.chain;
  base::check(row.dead || !row.kept, "the past keeps what is nobody's own any more");
  base::check(row.pre_states.empty() || (row.kept && !delta), "what is kept together stands whole");
  if (delta) base::check(row.base.content > key.content, "a base stands above what is based on it");
  Bytes out;
  out.reserve(row.payload.size() + row.pre_states.size() + 40);
  const int choice = delta ? static_cast<int>(row.choice) << choice_shift : 0;
  out.push_back(static_cast<char>(static_cast<uint8_t>(row.form) | (row.dead ? flag_dead : 0) | (row.kept ? flag_kept : 0) |
                                  (row.pre_states.empty() ? 0 : flag_group) | (other_chain ? flag_other_chain : 0) | choice));
  append_varint(out, row.references);
  append_varint(out, row.length);
  append_le(out, row.checksum);
  if (delta) {
    append_record(out, row.base.content.record, key.content.record);
    if (other_chain) append_record(out, row.base.chain, row.base.content.record);
    append_stamp_near(out, row.base.content.generation, key.content.generation);
  } else if (!row.pre_states.empty()) {
    append_varint(out, row.pre_states.size());
    out.append(row.pre_states);
  }
  out.append(row.payload);
  return out;
}

}  // namespace storage
