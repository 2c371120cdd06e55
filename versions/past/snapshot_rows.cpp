#include "versions/past/snapshot_rows.h"

#include "base/error.h"
#include "bson/builder.h"
#include "bson/validate.h"

namespace versions::past {
namespace {

[[noreturn]] void damaged() {
  throw base::OperationError(base::ErrorCode::data_corruption_detected, "the list of snapshots can't be read");
}

bson::DocumentView checked(base::BytesView row) {
  const auto document = bson::validate(row);
  if (!document.ok()) damaged();
  return document.value();
}

int64_t number_in(bson::DocumentView row, std::string_view field) {
  const auto value = row.find(field);
  if (value.type() != bson::Type::int64) damaged();
  return value.to_int64();
}

}  // namespace

base::Bytes snapshot_key(uint64_t number) {
  base::Bytes key;
  base::append_be64(key, number);
  return key;
}

bson::Document write_snapshot_row(const SnapshotRow& row) {
  bson::Builder out;
  out.append("stamp", static_cast<int64_t>(row.snapshot.stamp)).append("time", row.snapshot.time_ms);
  if (row.dropped) out.append("dropped", true);
  if (!row.snapshot.name.empty()) out.append("name", row.snapshot.name);
  return out.done();
}

SnapshotRow read_snapshot_row(base::BytesView key, base::BytesView value) {
  if (key.size() != sizeof(uint64_t)) damaged();
  const bson::DocumentView row = checked(value);
  SnapshotRow out{{base::load_be64(key.data()), static_cast<Stamp>(number_in(row, "stamp")), number_in(row, "time"), {}}};
  out.dropped = row.find("dropped").exists();
  if (const auto name = row.find("name"); name.is_string()) out.snapshot.name = name.as_string();
  return out;
}

bson::Document write_next_snapshot(const NextSnapshotRow& row) {
  bson::Builder out;
  out.append("next", static_cast<int64_t>(row.next)).append("newest", static_cast<int64_t>(row.newest));
  return out.done();
}

NextSnapshotRow read_next_snapshot(base::BytesView value) {
  const bson::DocumentView row = checked(value);
  return {static_cast<uint64_t>(number_in(row, "next")), static_cast<Stamp>(number_in(row, "newest"))};
}

}  // namespace versions::past
