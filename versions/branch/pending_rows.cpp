#include "versions/branch/pending_rows.h"

#include "base/error.h"

namespace versions {

namespace {

constexpr size_t key_bytes = 2 * sizeof(uint64_t);
constexpr size_t stamped_bytes = 1 + sizeof(Stamp);  // what a row has before the key

bool is_key(BytesView key) {
  return key.size() == key_bytes && base::load_be64(key.data()) <= UINT32_MAX;
}

void require(bool sound) {
  if (!sound)
    throw base::OperationError(base::ErrorCode::data_corruption_detected, "a row of what is pending on branches is damaged");
}

Bytes stamped_row(char kind, Stamp stamp) {
  Bytes row(1, kind);
  base::append_le(row, stamp);
  return row;
}

}  // namespace

Bytes pending_key(BranchId branch, RecordId record) {
  Bytes key;
  base::append_be64(key, static_cast<uint64_t>(branch));
  base::append_be64(key, static_cast<uint64_t>(record));
  return key;
}

Bytes pending_row(PendingKind kind, Stamp stamp, BytesView key) {
  return stamped_row(static_cast<char>(kind), stamp).append(key);
}

Bytes pending_row(Listing listing, Stamp stamp) {
  return stamped_row(static_cast<char>(listing), stamp);
}

Bytes purged_row(BytesView key) {
  return Bytes(1, static_cast<char>(key.empty() ? PurgedKind::keyless : PurgedKind::keyed)).append(key);
}

BranchId branch_of_key(BytesView key) {
  require(is_key(key));
  return static_cast<BranchId>(base::load_be64(key.data()));
}

RecordId record_of_key(BytesView key) {
  require(is_key(key));
  return static_cast<RecordId>(base::load_be64(key.data() + sizeof(uint64_t)));
}

char kind_of_row(BytesView row) {
  require(!row.empty());
  return row.front();
}

Stamp stamp_of_row(BytesView row) {
  return row.size() < stamped_bytes ? 0 : base::load_le<Stamp>(row.data() + 1);
}

BytesView key_of_row(BytesView row) {
  return row.substr(std::min(stamped_bytes, row.size()));
}

std::optional<PendingRow> parse_pending_row(BytesView key, BytesView row) {
  if (!is_key(key) || row.empty()) return std::nullopt;
  return PendingRow{.branch = branch_of_key(key),
                    .record = record_of_key(key),
                    .kind = row.front(),
                    .purged = row.front() == static_cast<char>(PurgedKind::keyed) ? row.substr(1) : BytesView()};
}

}  // namespace versions
