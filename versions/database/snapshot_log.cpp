// Declared snapshots, and the log: it has them as commands of the database admin.
#include "storage/store.h"
#include "versions/database/databases.h"
#include "versions/database/log_fields.h"

namespace versions {

using past::DeclaredSnapshot;

namespace {

constexpr std::string_view log_database = "admin";

// The log's entry has a stamp of its own.
bson::Document declaring(const DeclaredSnapshot& snapshot) {
  bson::Builder command;
  command.append("createSnapshot", static_cast<int64_t>(snapshot.number)).append("name", snapshot.name);
  command.append("time", bson::Date{snapshot.time_ms});
  log::append(command, "at", snapshot.stamp);
  return command.done();
}

bson::Document dropping_of(uint64_t number) {
  bson::Builder command;
  command.append("dropSnapshot", static_cast<int64_t>(number));
  return command.done();
}

}  // namespace

DeclaredSnapshot Databases::declare_snapshot(const std::string& name, const std::function<void()>& interrupted) {
  past_.past().make();
  return past_.past().snapshots().declare(
      name,
      [&](Transaction& transaction, const DeclaredSnapshot& snapshot) { tell_of_snapshot(transaction, declaring(snapshot)); },
      interrupted);
}

bool Databases::drop_snapshot(uint64_t number) {
  const auto told = [&](Transaction& transaction, const DeclaredSnapshot& snapshot) {
    tell_of_snapshot(transaction, dropping_of(snapshot.number));
  };
  return past_.past().snapshots().drop(number, told).has_value();
}

void Databases::tell_of_snapshot(Transaction& transaction, const bson::Document& command) const {
  if (log_) log_->branches_changed(transaction, log_database, command.view());
}

bool Databases::make_snapshots_again(std::string_view db, const std::vector<storage::BranchChange>& changes) {
  if (db != log_database) return false;
  past::Past& past = past_.past();
  past.make();
  storage::in_transaction(store_, [&](Transaction& transaction) {
    for (const storage::BranchChange& change : changes) {
      const bson::DocumentView command = change.command;
      const std::string_view what = command.begin()->name;
      if (!change.documents.empty()) log::refuse("documents of a change that has none");
      if (command.begin()->type() != bson::Type::int64 || command.begin()->as_int64() < 1) log::refuse("no number in it");
      const auto number = static_cast<uint64_t>(command.begin()->as_int64());
      if (what == "createSnapshot") {
        const auto time = command.find("time");
        if (time.type() != bson::Type::date) log::refuse("no time in it");
        const DeclaredSnapshot snapshot{number, log::stamp(command, "at"), time.as_date().ms, log::text(command, "name")};
        past.snapshots().declare_again(transaction, snapshot);
        tell_of_snapshot(transaction, declaring(snapshot));
      } else if (what == "dropSnapshot") {
        past.snapshots().drop_again(transaction, number);
        tell_of_snapshot(transaction, dropping_of(number));
      } else {
        log::refuse("an unknown command");
      }
    }
  });
  return true;
}

}  // namespace versions
