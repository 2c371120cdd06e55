#include "versions/log/snapshot_entries.h"

namespace versions::log {

namespace {

uint64_t number_of(const Fields& fields) {
  const int64_t number = fields.long_number(fields.name());
  if (number < 1) fields.refuse_field(fields.name(), "at least 1");
  return static_cast<uint64_t>(number);
}

}  // namespace

bson::Document CreateSnapshot::encode() const {
  bson::Builder command;
  command.append(name, static_cast<int64_t>(snapshot.number)).append("name", snapshot.name);
  command.append("time", bson::Date{snapshot.time_ms}).append("at", timestamp(snapshot.stamp));
  return command.done();
}
CreateSnapshot CreateSnapshot::decode(bson::DocumentView command) {
  const Fields fields(command);
  return {{.number = number_of(fields),
           .stamp = fields.timestamp("at"),
           .time_ms = fields.date_ms("time"),
           .name = fields.text("name")}};
}

bson::Document DropSnapshot::encode() const {
  bson::Builder command;
  command.append(name, static_cast<int64_t>(number));
  return command.done();
}
DropSnapshot DropSnapshot::decode(bson::DocumentView command) {
  return {.number = number_of(Fields(command))};
}

SnapshotChange decode_snapshot_change(bson::DocumentView command) {
  const std::string_view name = Fields(command).name();
  if (name == CreateSnapshot::name) return CreateSnapshot::decode(command);
  if (name == DropSnapshot::name) return DropSnapshot::decode(command);
  refuse("the log has an unknown entry about snapshots: '" + std::string(name) + "'");
}

}  // namespace versions::log
