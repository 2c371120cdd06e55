#include "versions/database/logged_writes.h"

#include "base/error.h"
#include "bson/keystring.h"
#include "storage/engine/names.h"
#include "versions/database/branched_database.h"

namespace versions {

namespace {

// Returns whether a collection is renamed from that database to another one, or the other way.
bool moves_between_databases(const LoggedEntry& entry, const std::string& db) {
  if (entry.kind != LoggedEntry::Kind::command) return false;
  const auto from = entry.command.find("renameCollection"), to = entry.command.find("to");
  if (!from.is_string() || !to.is_string()) return false;
  const auto left = split_name(storage::database_of(from.as_string())).database;
  const auto right = split_name(storage::database_of(to.as_string())).database;
  return left != right && (left == db || right == db);
}

}  // namespace

void LoggedWrites::meet(const LoggedEntry& entry) {
  if (known_from_ == 0) known_from_ = entry.stamp;
  if (entry.kind != LoggedEntry::Kind::command && entry.uuid != BytesView(of_.uuid)) return;
  if (moves_between_databases(entry, of_.db)) {  // what the other database wrote isn't followed
    known_from_ = 0;
    hole();
  }
  const std::string_view db = storage::database_of(entry.ns);
  const DatabaseName name = split_name(db);
  if (name.database != of_.db) return;
  try {
    if (entry.kind != LoggedEntry::Kind::command) {
      write(entry, ref_of_database(db).name);
    } else if (!name.ref) {
      if (log::is_branch_change(entry.command)) change(log::decode_branch_change(entry.command), entry);
      if (entry.command.has("dropDatabase")) dropped();
    }
  } catch (const base::OperationError& damage) {
    using base::ErrorCode;
    if (damage.code() != ErrorCode::data_corruption_detected && damage.code() != ErrorCode::bad_value) throw;
    meet_hole("the log's entry " + storage::text_of(entry.stamp) + " is damaged");
  }
}

void LoggedWrites::meet_hole(const std::string& why) {
  why_hole_ = why;
  known_from_ = 0;
  hole();
}

Bytes LoggedWrites::key_of_entry(const LoggedEntry& entry) {
  const auto value = entry.with_id.find("_id");
  if (!value.exists())
    throw base::OperationError(base::ErrorCode::data_corruption_detected,
                               "the log's entry " + storage::text_of(entry.stamp) + " has no _id");
  bson::KeyString id;
  id.append(static_cast<bson::ValueView>(value));
  return id.bytes();
}

}  // namespace versions
