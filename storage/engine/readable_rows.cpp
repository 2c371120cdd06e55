#include "storage/engine/readable_rows.h"

#include "base/error.h"

namespace storage {
namespace {

// Places between keys are numbers of so many bytes, the key's first ones. Keys of records and chains are shorter.
constexpr size_t place_bytes = 32;
constexpr int place_bits = 8 * place_bytes;

bool is_damage(const base::OperationError& error) {
  return error.code() == base::ErrorCode::data_corruption_detected;
}

Bytes place_of(BytesView key) {
  Bytes place(key.substr(0, place_bytes));
  place.resize(place_bytes, '\0');
  return place;
}

// Adds 2^bit; returns false if there is no such place.
bool add(Bytes& place, int bit) {
  unsigned carry = 1u << (bit % 8);
  for (size_t at = place_bytes - 1 - static_cast<size_t>(bit / 8);; --at) {
    carry += static_cast<uint8_t>(place[at]);
    place[at] = static_cast<char>(carry);
    carry >>= 8;
    if (carry == 0) return true;
    if (at == 0) return false;
  }
}

// Returns the place in the middle, rounded down.
Bytes middle(const Bytes& low, const Bytes& high) {
  Bytes sum(place_bytes + 1, '\0');
  unsigned carry = 0;
  for (size_t at = place_bytes; at-- > 0;) {
    carry += static_cast<uint8_t>(low[at]) + static_cast<uint8_t>(high[at]);
    sum[at + 1] = static_cast<char>(carry);
    carry >>= 8;
  }
  sum[0] = static_cast<char>(carry);
  for (size_t at = place_bytes; at > 0; --at) {
    sum[at] = static_cast<char>(static_cast<uint8_t>(sum[at]) >> 1 | (static_cast<uint8_t>(sum[at - 1]) & 1) << 7);
  }
  return sum.substr(1);
}

}  // namespace

ReadableRows::ReadableRows(Engine& engine, const Table& table)
    : table_(table), transaction_(engine, Transaction::Mode::read), rows_(table_.cursor(transaction_)) {}

std::optional<bool> ReadableRows::seek(const Bytes& place) {
  try {
    return rows_->seek(place);
  } catch (const base::OperationError& error) {
    if (!is_damage(error)) throw;
    return std::nullopt;
  }
}

// WiredTiger's cursor would begin again behind the end.
bool ReadableRows::next() {
  over_ = over_ || !step();
  if (!over_) last_ = rows_->key();
  return !over_;
}

bool ReadableRows::step() {
  try {
    return rows_->next();
  } catch (const base::OperationError& error) {
    if (!is_damage(error)) throw;
    all_holes_.push_back({last_, std::nullopt});
    if (!behind_hole()) return false;
    all_holes_.back().to = rows_->key();
    return true;
  }
}

bool ReadableRows::behind_hole() {
  const auto place = behind_damage(last_, [this](const Bytes& at) { return seek(at); });
  return place && seek(*place).value_or(false);
}

// Looks further and further behind the last row until a place can be read, and then for the first such place.
std::optional<Bytes> behind_damage(BytesView last, const std::function<std::optional<bool>(const Bytes& place)>& seek) {
  Bytes damaged = place_of(last), readable;
  for (int bit = 0; bit < place_bits && readable.empty(); ++bit) {
    // 1, 1.5, 2, 3, 4, 6 ...: shorter steps would pass fewer readable pages between two damaged ones, and take longer.
    for (const bool half : {false, true}) {
      Bytes place = place_of(last);
      if (half && bit == 0) continue;
      if (!add(place, bit) || (half && !add(place, bit - 1))) return std::nullopt;
      if (seek(place)) {
        readable = std::move(place);
        break;
      }
      damaged = std::move(place);
    }
  }
  if (readable.empty()) return std::nullopt;
  for (;;) {
    const Bytes between = middle(damaged, readable);
    if (between == damaged) break;
    (seek(between) ? readable : damaged) = between;
  }
  // A key sorts before the place that begins with it and goes on with zeros.
  while (!readable.empty() && readable.back() == '\0' && seek(readable.substr(0, readable.size() - 1))) readable.pop_back();
  return readable;
}

bool can_be_read(Engine& engine, const Table& table, BytesView key) {
  try {
    Transaction transaction(engine, Transaction::Mode::read);
    (void)table.get(transaction, key);
    return true;
  } catch (const base::OperationError& error) {
    if (!is_damage(error)) throw;
    return false;
  }
}

bool can_be_read(Engine& engine, const Table& table) {
  try {
    ReadableRows rows(engine, table);
    while (rows.next()) (void)rows.value();
    return rows.holes() == 0;
  } catch (const base::OperationError& error) {
    if (!is_damage(error)) throw;
    return false;
  }
}

}  // namespace storage
