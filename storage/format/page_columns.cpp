#include "storage/format/page_columns.h"

#include <algorithm>
#include <array>
#include <vector>

#include "storage/format/page_cells.h"
#include "storage/format/record_format.h"

namespace storage {
namespace {

using base::append_varint;
using base::take_varint;
using base::unzigzag;
using base::zigzag;

constexpr size_t rows_min = 8;
constexpr size_t start_max = 1 << 20;  // the first row begins before the bytes that a compressor sees
constexpr int starts_max = 16;         // so many starts may look like rows and soon turn out to be cells out of step
// If the beginning of a key isn't seen, the key is taken to have so many bytes: WiredTiger counts to 255.
constexpr size_t keys_known = 255;

constexpr uint64_t record_pre_states = 0x10, record_behind = 0x20, chain_pre_states = 0x08;  // these lie in the column of forms
constexpr int choice_shift = 5;  // it lies in the column of forms; each choice takes one byte there

enum class Layout : uint8_t { records = 1, chains = 2, entries = 3, typed_entries = 4 };

// The streams lie in this order. Each is a run of varints, except those that are called bytes.
enum Stream {
  cells,
  cell_bytes,
  forms,
  ids,
  records,
  seconds,
  counts,
  references,
  lengths,
  bases,
  base_names,
  chains,
  sizes,
  streams_count
};

// --- The following code serves both directions: it predicts a row from those before it.

struct Near {
  RecordId chain = 0;
  RecordId record = 0;
  int64_t seconds = 0;
  int64_t count = 0;
  int64_t length = 0;
  RecordId stub_chain = 0;
};

int64_t seconds_of(Stamp stamp) {
  return static_cast<int64_t>(stamp >> 32);
}
int64_t count_of(Stamp stamp) {
  return static_cast<int64_t>(static_cast<uint32_t>(stamp));
}

// Timestamps are given out in order, and records come in that order: within a second both count up together.
int64_t expected_count(const Near& near, int64_t seconds, RecordId record) {
  return seconds == near.seconds ? static_cast<int64_t>(static_cast<uint64_t>(near.count) + static_cast<uint64_t>(record) -
                                                        static_cast<uint64_t>(near.record))
                                 : 0;
}

int64_t minus(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b));
}
int64_t plus(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}

std::optional<Stamp> stamp(int64_t seconds, int64_t count) {
  if (seconds < 0 || seconds > UINT32_MAX || count < 0 || count > UINT32_MAX) return std::nullopt;
  return static_cast<Stamp>(seconds) << 32 | static_cast<Stamp>(count);
}

// Returns how many of these bytes are the instructions of a delta whose target is so long, or nullopt if they end before the
// target does.
std::optional<size_t> instruction_bytes(BytesView bytes, uint64_t target_bytes) {
  BytesView rest = bytes;
  for (uint64_t made = 0;;) {
    const auto insert = take_varint(rest);
    if (!insert || *insert > rest.size() || *insert > target_bytes - made) return std::nullopt;
    rest.remove_prefix(*insert);
    made += *insert;
    if (made == target_bytes) return bytes.size() - rest.size();
    const auto copy = take_varint(rest);
    if (!copy || *copy > target_bytes - made || (*insert == 0 && *copy == 0) || !take_varint(rest)) return std::nullopt;
    made += *copy;
    if (made == target_bytes) return bytes.size() - rest.size();
  }
}

// An entry's value may have types behind its record key (stored_index.h). Short types are written as one number, whose bytes are
// a 1 and then the types.
constexpr size_t types_max = 7;

std::optional<uint64_t> types_number(BytesView types) {
  if (types.size() > types_max) return std::nullopt;
  uint64_t number = 1;
  for (const char byte : types) number = number << 8 | static_cast<uint8_t>(byte);
  return number;
}

Bytes types_of(uint64_t number) {
  Bytes types;
  for (; number > 1; number >>= 8) types.insert(types.begin(), static_cast<char>(number & 0xff));
  return types;
}

size_t common(BytesView a, BytesView b) {
  return static_cast<size_t>(
      std::mismatch(a.begin(), a.begin() + static_cast<ptrdiff_t>(std::min(a.size(), b.size())), b.begin()).first - a.begin());
}

// --- The following code splits pages.

class Splitter {
 public:
  explicit Splitter(PageKind kind) : kind_(kind), layout_(kind == PageKind::entries ? Layout::entries : Layout::records) {}

  std::optional<PageColumns> split(BytesView page) {
    const auto found = find_start(page);
    if (!found) return std::nullopt;
    const size_t start = *found;
    const BytesView rest = page.substr(page.size() - at_end_);
    if (kind_ == PageKind::entries) {
      write_entries();
    } else {
      for (size_t i = 0; i < rows_.size(); ++i) layout_ == Layout::chains ? write_chain(i) : write_record(rows_[i]);
    }
    PageColumns made;
    made.numbers.push_back(static_cast<char>(layout_));
    append_varint(made.numbers, start);
    append_varint(made.numbers, rest.size());
    append_varint(made.numbers, rows_.size());
    for (const Bytes& stream : streams_) append_varint(made.numbers, stream.size());
    for (const Bytes& stream : streams_) made.numbers += stream;
    made.plain = std::move(plain_);
    made.bodies = Bytes(page.substr(0, start)) + bodies_ + Bytes(rest);
    return made;
  }

 private:
  struct Row {
    uint8_t prefix = 0;
    BytesView suffix, header, value;
    bool has_value = false;
    ChainKey key;  // only rows of contents have it
  };

  std::optional<size_t> find_start(BytesView page) {
    int tried = 0;
    for (size_t start = 0; start < std::min(page.size(), start_max) && tried < starts_max; ++start) {
      if (!may_be_key(page.substr(start))) continue;
      rows_.clear();
      at_end_ = take_rows(page.substr(start));
      if (rows_.size() < rows_min) continue;
      if (at_end_ <= (page.size() - start) / 2) return start;
      ++tried;
    }
    return std::nullopt;
  }

  bool may_be_key(BytesView at) const {
    if (kind_ == PageKind::entries) return true;
    const auto first = static_cast<uint8_t>(at[0]);
    return (first & 3) == 1 && at.size() > 1 && static_cast<uint8_t>(at[1]) >= 1 && static_cast<uint8_t>(at[1]) < (first >> 2);
  }

  // Takes as many rows as can be distinguished, and returns the number of bytes that are left.
  size_t take_rows(BytesView in) {
    for (size_t key_bytes = keys_known;;) {
      const BytesView before = in;
      Row row;
      const auto key = take_cell(in);
      if (!key || !key->key || key->prefix > key_bytes) return before.size();
      key_bytes = key->prefix + key->data.size();
      row.prefix = key->prefix;
      row.suffix = key->data;
      BytesView after = in;
      if (const auto value = take_cell(after); value && !value->key) {
        row.has_value = true;
        row.header = value->header;
        row.value = value->data;
        in = after;
      } else if (kind_ == PageKind::contents || (!value && !in.empty())) {
        return before.size();
      }
      if (kind_ == PageKind::contents && !understood(row)) return before.size();
      rows_.push_back(std::move(row));
      if (in.empty()) return 0;
    }
  }

  // Returns whether the row is understood: its bytes can be rebuilt from the numbers that were read.
  bool understood(Row& row) {
    if (row.prefix) return false;
    BytesView value = row.value;
    const auto bytes = static_cast<uint8_t>(row.suffix[0]);
    const Layout layout = row.suffix.size() == size_t{bytes} + 1 ? Layout::records : Layout::chains;
    if (!rows_.empty() && layout != layout_) return false;
    if (layout == Layout::records) {
      const RecordId record = record_from_key(row.suffix);
      if (record < record_id_min || record_key(record) != row.suffix) return false;
      auto parsed = parse_record_row(value, record);
      if (!parsed) return false;
      row.key.content = {record, parsed->generation};
      const Bytes again = parsed->form == RecordRow::Form::raw
                              ? raw_row(parsed->generation, parsed->checksum, {}, parsed->past)
                              : stub_row(record, parsed->generation, parsed->chain, parsed->past);
      if (value.substr(0, value.size() - parsed->content.size()) != again) return false;
    } else {
      auto key = parse_chain_key(row.suffix);
      if (!key || chain_key(*key) != row.suffix) return false;
      row.key = *key;
      auto parsed = parse_chain_row(value, row.key);
      if (!parsed || parsed->length > UINT32_MAX) return false;
      ChainRow header = *parsed;
      header.payload = {};
      if (value.substr(0, value.size() - parsed->payload.size()) != chain_row(row.key, header)) return false;
    }
    layout_ = layout;
    return true;
  }

  void put(Stream stream, uint64_t number) { append_varint(streams_[stream], number); }
  void put_signed(Stream stream, int64_t number) { put(stream, zigzag(number)); }

  void put_cell(const Row& row) {
    if (!row.has_value) return put(cells, 1);
    if (row.header == value_header(row.value.size())) return put(cells, 0);
    put(cells, row.header.size() + 1);
    streams_[cell_bytes] += row.header;
  }

  void put_generation(Stamp generation, RecordId record) {
    put_signed(seconds, minus(seconds_of(generation), near_.seconds));
    put_signed(counts, minus(count_of(generation), expected_count(near_, seconds_of(generation), record)));
    near_.seconds = seconds_of(generation);
    near_.count = count_of(generation);
    near_.record = record;
  }

  void write_record(const Row& row) {
    const RecordId record = row.key.content.record;
    const RecordRow parsed = parse_record_row(row.value, record).or_throw();
    put_cell(row);
    const BytesView pre_states = parsed.past.pre_states;
    put(forms, static_cast<uint64_t>(parsed.form) | (pre_states.empty() ? 0 : record_pre_states) |
                   (parsed.past.behind ? record_behind : 0));
    put_signed(ids, minus(record, near_.record));
    put_generation(parsed.generation, record);
    put_pre_states(pre_states);
    if (parsed.form == RecordRow::Form::stub) {
      put_signed(chains, minus(parsed.chain, near_.stub_chain));
      near_.stub_chain = parsed.chain;
      return;
    }
    base::append_le(plain_, parsed.checksum);
    put_body(parsed.content);
  }

  void put_pre_states(BytesView list) {
    if (list.empty()) return;
    put(sizes, list.size());
    bodies_ += list;
  }

  // Leaves out the length that a document begins with, because the column of sizes has it.
  void put_body(BytesView content) {
    const bool says = content.size() >= 4 && base::load_le<uint32_t>(content.data()) == content.size();
    put(sizes, content.size() << 1 | (says ? 1 : 0));
    bodies_ += content.substr(says ? 4 : 0);
  }

  void write_chain(size_t i) {
    const Row& row = rows_[i];
    const ChainRow parsed = parse_chain_row(row.value, row.key).or_throw();
    put_cell(row);
    put(forms, static_cast<uint64_t>(parsed.form) | (parsed.kept ? 0x04 : 0) |
                   (parsed.pre_states.empty() ? 0 : chain_pre_states) | (parsed.dead ? 0x10 : 0) |
                   static_cast<uint64_t>(parsed.choice) << choice_shift);
    put_signed(ids, minus(row.key.chain, near_.chain));
    put_signed(records, minus(row.key.content.record, row.key.chain == near_.chain ? near_.record : row.key.chain));
    put_generation(row.key.content.generation, row.key.content.record);
    near_.chain = row.key.chain;
    put(references, parsed.references);
    put_signed(lengths, minus(static_cast<int64_t>(parsed.length), near_.length));
    near_.length = static_cast<int64_t>(parsed.length);
    base::append_le(plain_, parsed.checksum);
    if (parsed.form == ChainRow::Form::raw) {
      put_pre_states(parsed.pre_states);
      return put_body(parsed.payload);
    }

    put_base(i, parsed.base);
    BytesView payload = parsed.payload;
    const auto target = take_varint(payload);
    const auto bytes = target && *target == parsed.length && parsed.payload.size() - payload.size() == base::varint_bytes(*target)
                           ? instruction_bytes(payload, *target)
                           : std::nullopt;
    if (bytes == payload.size()) {
      put(sizes, 0);
      bodies_ += payload;
    } else {
      put(sizes, parsed.payload.size() + 1);
      bodies_ += parsed.payload;
    }
  }

  // The base is written as a place if it is one of the next rows, as it often is.
  void put_base(size_t i, const ChainKey& base) {
    const auto by_key = [](const Row& row, const ChainKey& key) { return row.key < key; };
    const auto found = std::lower_bound(rows_.begin() + static_cast<ptrdiff_t>(i), rows_.end(), base, by_key);
    if (found != rows_.end() && found->key == base && found > rows_.begin() + static_cast<ptrdiff_t>(i)) {
      return put(bases, static_cast<uint64_t>(found - rows_.begin()) - i);
    }
    put(bases, 0);
    const ChainKey& key = rows_[i].key;
    const int64_t distance = minus(base.content.record, key.content.record);
    put_signed(base_names, distance);
    put_signed(base_names, minus(base.chain, key.chain));
    put_signed(base_names, minus(seconds_of(base.content.generation), seconds_of(key.content.generation)));
    put_signed(base_names, minus(minus(count_of(base.content.generation), count_of(key.content.generation)), distance));
  }

  void write_entries() {
    Bytes last(keys_known, '\0');
    RecordId last_record = 0;
    for (const Row& row : rows_) {
      put_cell(row);
      const Bytes key = last.substr(0, row.prefix) + Bytes(row.suffix);
      const size_t same = common(last, key);
      const bool counts_up = key.size() == last.size() && key.size() >= 8 && same >= key.size() - 8;
      const BytesView record_part = row.value.substr(0, row.value.empty() ? 0 : size_t{static_cast<uint8_t>(row.value[0])} + 1);
      const RecordId record = record_part.size() > 1 && record_part.size() <= 9 ? record_from_key(record_part) : 0;
      const auto types = types_number(row.value.substr(record_part.size()));
      const bool is_record = row.has_value && types && record >= record_id_min && record_key(record) == record_part;
      const bool has_types = is_record && types != 1;
      const bool odd_prefix = row.prefix != usual_prefix(same);
      put(forms, (counts_up ? 1 : 0) | (is_record ? 2 : 0) | (odd_prefix ? 4 : 0) | (has_types ? 8 : 0));
      if (odd_prefix) put(references, row.prefix);
      if (counts_up) {
        put_signed(ids, minus(static_cast<int64_t>(base::load_be64(key.data() + key.size() - 8)),
                              static_cast<int64_t>(base::load_be64(last.data() + last.size() - 8))));
      } else {
        put(lengths, same);
        put(sizes, key.size() - same);
        bodies_ += key.substr(same);
      }
      if (is_record) {
        put_signed(records, minus(record, last_record));
        last_record = record;
        if (has_types) put(chains, *types);
        if (has_types) layout_ = Layout::typed_entries;
      } else if (row.has_value) {
        put(chains, row.value.size());
        bodies_ += row.value;
      }
      last = key;
    }
  }

  const PageKind kind_;
  Layout layout_;
  std::vector<Row> rows_;
  size_t at_end_ = 0;
  Near near_;
  std::array<Bytes, streams_count> streams_;
  Bytes plain_, bodies_;
};

// --- The following code joins columns to pages.

class Joiner {
 public:
  Joiner(BytesView plain, BytesView bodies, size_t bytes_max) : plain_(plain), bodies_(bodies), bytes_max_(bytes_max) {}

  std::optional<Bytes> join(BytesView numbers) {
    if (numbers.empty()) return std::nullopt;
    const auto layout = static_cast<Layout>(numbers[0]);
    numbers.remove_prefix(1);
    const auto start = take_varint(numbers), rest = take_varint(numbers), rows = take_varint(numbers);
    if (!start || !rest || !rows || *start > bodies_.size() || *rest > bodies_.size() - *start) return std::nullopt;
    std::array<uint64_t, streams_count> bytes{};
    for (uint64_t& one : bytes) {
      const auto taken = take_varint(numbers);
      if (!taken) return std::nullopt;
      one = *taken;
    }
    for (size_t i = 0; i < streams_count; ++i) {
      if (bytes[i] > numbers.size()) return std::nullopt;
      streams_[i] = numbers.substr(0, bytes[i]);
      numbers.remove_prefix(bytes[i]);
    }
    if (!numbers.empty() || *rows > streams_[cells].size()) return std::nullopt;
    out_.reserve(bytes_max_);
    out_ = bodies_.substr(0, *start);
    const BytesView tail = bodies_.substr(bodies_.size() - *rest);
    bodies_ = bodies_.substr(*start, bodies_.size() - *start - *rest);
    if (layout == Layout::records) {
      for (uint64_t i = 0; i < *rows && good(); ++i) read_record();
    } else if (layout == Layout::chains) {
      read_chains(*rows);
    } else if (layout == Layout::entries || layout == Layout::typed_entries) {
      read_entries(*rows);
    } else {
      return std::nullopt;
    }
    out_ += tail;
    bool all = good() && plain_.empty() && bodies_.empty();
    for (const BytesView stream : streams_) all &= stream.empty();
    return all ? std::optional(std::move(out_)) : std::nullopt;
  }

 private:
  uint64_t get(Stream stream) {
    const auto value = good_ ? take_varint(streams_[stream]) : std::nullopt;
    good_ = value.has_value();
    return value.value_or(0);
  }
  int64_t get_signed(Stream stream) { return unzigzag(get(stream)); }
  BytesView take(BytesView& from, uint64_t bytes) {
    good_ = good_ && bytes <= from.size();
    const BytesView taken = from.substr(0, good_ ? bytes : 0);
    from.remove_prefix(taken.size());
    return taken;
  }
  bool good() {
    good_ = good_ && out_.size() <= bytes_max_;
    return good_;
  }
  void need(bool holds) { good_ = good_ && holds; }

  uint32_t checksum() {
    const BytesView taken = take(plain_, 4);
    return taken.size() == 4 ? base::load_le<uint32_t>(taken.data()) : 0;
  }

  void put_value(BytesView value) {
    const uint64_t cell = get(cells);
    if (cell == 1) return;
    if (cell == 0) {
      out_ += value_header(value.size());
    } else {
      out_ += take(streams_[cell_bytes], cell - 1);
    }
    out_ += value;
  }

  Stamp generation(RecordId record) {
    const int64_t at_second = plus(near_.seconds, get_signed(seconds));
    const int64_t at_count = plus(expected_count(near_, at_second, record), get_signed(counts));
    const auto made = stamp(at_second, at_count);
    need(made.has_value());
    near_.seconds = at_second;
    near_.count = at_count;
    near_.record = record;
    return made.value_or(0);
  }

  BytesView list() {
    const uint64_t bytes = get(sizes);
    need(bytes > 0);
    return take(bodies_, bytes);
  }

  Bytes body() {
    const uint64_t size = get(sizes);
    const uint64_t bytes = size >> 1;
    Bytes out;
    need(bytes <= UINT32_MAX && (!(size & 1) || bytes >= 4));
    if (!good_) return out;
    if (size & 1) base::append_le(out, static_cast<uint32_t>(bytes));
    out += take(bodies_, bytes - out.size());
    return out;
  }

  void read_record() {
    const uint64_t flags = get(forms), form = flags & ~(record_pre_states | record_behind);
    const RecordId record = plus(near_.record, get_signed(ids));
    need(record >= record_id_min);
    const Stamp stamp = generation(record);
    Bytes row, pre_states;
    if (flags & record_pre_states) pre_states = list();
    const RowPast past{pre_states, (flags & record_behind) != 0};
    if (form == static_cast<uint64_t>(RecordRow::Form::stub)) {
      near_.stub_chain = plus(near_.stub_chain, get_signed(chains));
      need(near_.stub_chain >= record_id_min);
      if (good_) row = stub_row(record, stamp, near_.stub_chain, past);
    } else {
      need(form == static_cast<uint64_t>(RecordRow::Form::raw));
      const uint32_t sum = checksum();
      if (good_) row = raw_row(stamp, sum, body(), past);
    }
    if (!good_) return;
    put_key(0, record_key(record));
    put_value(row);
  }

  void put_key(uint8_t prefix, BytesView suffix) {
    out_ += key_header(prefix, suffix.size());
    out_ += suffix;
  }

  void read_chains(uint64_t rows) {
    // All names are read first, because a base may be given by its place on the page.
    std::vector<ChainKey> keys;
    keys.reserve(std::min<uint64_t>(rows, 1 << 16));
    for (uint64_t i = 0; i < rows && good_; ++i) {
      ChainKey key;
      key.chain = plus(near_.chain, get_signed(ids));
      key.content.record = plus(key.chain == near_.chain ? near_.record : key.chain, get_signed(records));
      need(key.chain >= record_id_min && key.content.record >= record_id_min);
      key.content.generation = generation(key.content.record);
      near_.chain = key.chain;
      keys.push_back(key);
    }
    for (size_t i = 0; i < keys.size() && good(); ++i) read_chain(keys, i);
  }

  void read_chain(const std::vector<ChainKey>& keys, size_t i) {
    const ChainKey& key = keys[i];
    const uint64_t form = get(forms);
    ChainRow row;
    row.dead = form & 0x10;
    row.kept = form & 0x04;
    row.form = static_cast<ChainRow::Form>(form & 0x03);
    row.choice = static_cast<dedup::Choice>(form >> choice_shift & 3);
    const bool group = form & chain_pre_states;
    need((form & ~uint64_t{0x7f}) == 0 && (row.dead || !row.kept) && (!group || (row.kept && row.form == ChainRow::Form::raw)) &&
         (row.form == ChainRow::Form::raw || row.form == ChainRow::Form::delta));
    row.references = get(references);
    near_.length = plus(near_.length, get_signed(lengths));
    need(near_.length >= 0 && near_.length <= UINT32_MAX);
    row.length = static_cast<uint64_t>(near_.length);
    row.checksum = checksum();
    if (!good_) return;
    Bytes payload, pre_states;
    if (row.form == ChainRow::Form::raw) {
      if (group) pre_states = list();
      row.pre_states = pre_states;
      payload = body();
    } else {
      row.base = base(keys, i);
      if (const uint64_t size = get(sizes); size == 0) {
        const auto bytes = instruction_bytes(bodies_, row.length);
        need(bytes.has_value());
        append_varint(payload, row.length);
        payload += take(bodies_, bytes.value_or(0));
      } else {
        payload = take(bodies_, size - 1);
      }
      need(row.base.content > key.content);
    }
    if (!good_) return;
    row.payload = payload;
    put_key(0, chain_key(key));
    put_value(chain_row(key, row));
  }

  ChainKey base(const std::vector<ChainKey>& keys, size_t i) {
    const uint64_t ahead = get(bases);
    need(ahead < keys.size() - i);
    if (!good_) return {};
    if (ahead > 0) return keys[i + ahead];
    const ChainKey& key = keys[i];
    ChainKey base;
    const int64_t distance = get_signed(base_names);
    base.content.record = plus(key.content.record, distance);
    base.chain = plus(key.chain, get_signed(base_names));
    const int64_t at_second = plus(seconds_of(key.content.generation), get_signed(base_names));
    const auto made = stamp(at_second, plus(plus(count_of(key.content.generation), distance), get_signed(base_names)));
    need(base.content.record >= record_id_min && base.chain >= record_id_min && made.has_value());
    base.content.generation = made.value_or(0);
    return base;
  }

  void read_entries(uint64_t rows) {
    Bytes last(keys_known, '\0');
    RecordId last_record = 0;
    for (uint64_t i = 0; i < rows && good(); ++i) {
      const uint64_t form = get(forms);
      const bool odd_prefix = form & 4;
      const uint64_t told_prefix = odd_prefix ? get(references) : 0;
      Bytes key;
      if (form & 1) {
        need(last.size() >= 8);
        if (!good_) return;
        key = last;
        const auto number =
            static_cast<uint64_t>(plus(static_cast<int64_t>(base::load_be64(last.data() + last.size() - 8)), get_signed(ids)));
        base::store_le(key.data() + key.size() - 8, base::byte_swap(number));
      } else {
        const uint64_t same = get(lengths);
        need(same <= last.size());
        if (!good_) return;
        key = last.substr(0, same);
        key += take(bodies_, get(sizes));
      }
      const uint64_t prefix = odd_prefix ? told_prefix : usual_prefix(common(last, key));
      need(prefix <= std::min(key.size(), keys_known) && key.size() <= bytes_max_);
      if (!good_) return;
      put_key(static_cast<uint8_t>(prefix), BytesView(key).substr(prefix));
      if (form & 2) {
        last_record = plus(last_record, get_signed(records));
        need(last_record >= record_id_min);
        Bytes value = good_ ? record_key(last_record) : Bytes();
        if (form & 8) value += types_of(get(chains));
        if (good_) put_value(value);
      } else if (!streams_[cells].empty() && streams_[cells][0] == 1) {
        get(cells);
      } else {
        put_value(take(bodies_, get(chains)));
      }
      last = std::move(key);
    }
  }

  std::array<BytesView, streams_count> streams_;
  BytesView plain_, bodies_;
  const size_t bytes_max_;
  Bytes out_;
  Near near_;
  bool good_ = true;
};

}  // namespace

std::optional<PageColumns> split_page(BytesView page, PageKind kind) {
  auto made = Splitter(kind).split(page);
  if (!made || join_page(made->numbers, made->plain, made->bodies, page.size()) != page) return std::nullopt;
  return made;
}

std::optional<Bytes> join_page(BytesView numbers, BytesView plain, BytesView bodies, size_t bytes_max) {
  return Joiner(plain, bodies, bytes_max).join(numbers);
}

}  // namespace storage
