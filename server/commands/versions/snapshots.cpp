// createSnapshot, listSnapshots, dropSnapshot: moments whose past stays readable, as shop@name.
#include "base/error.h"
#include "bson/builder.h"
#include "replication/optime.h"
#include "server/commands/shared/list_cursor.h"
#include "server/core/arguments.h"
#include "server/core/command.h"
#include "server/core/operation.h"
#include "server/core/services.h"
#include "server/write/target.h"
#include "storage/store.h"
#include "versions/database/databases.h"
#include "versions/past/past.h"

namespace server {
namespace {

using base::ErrorCode;
using base::OperationError;
using versions::past::DeclaredSnapshot;

void append_snapshot(const DeclaredSnapshot& snapshot, bson::Builder& out) {
  out.append("snapshot", snapshot.text()).append("number", static_cast<int64_t>(snapshot.number));
  if (!snapshot.name.empty()) out.append("name", snapshot.name);
  out.append("time", bson::Date{snapshot.time_ms}).append("clusterTime", replication::timestamp_of(snapshot.stamp));
}

versions::past::Past& past_of(OperationContext& op) {
  write::store_of(op);
  return *op.services().past;
}

class CreateSnapshot : public Command {
 public:
  std::string_view name() const override { return "createSnapshot"; }
  std::string_view help() const override {
    return "declare a snapshot of the whole server\n{ createSnapshot: 1, name: <string> } or { createSnapshot: <name> }\n"
           "What is overwritten from now on stays readable as <database>@<name>, or <database>@s<number>. Nobody waits, nothing "
           "is copied.";
  }
  std::optional<FieldNames> fields() const override {
    static constexpr std::string_view names[] = {"name"};
    return names;
  }
  bool writes() const override { return true; }

  void run(OperationContext& op, const Request& request, bson::Builder& reply) override {
    const Arguments arguments(request);
    auto given = arguments.string("name");
    // As branches and tags are named, too.
    if (arguments.any("createSnapshot").is_string()) {
      if (given)
        throw OperationError(ErrorCode::invalid_options, "a snapshot has one name: that of 'createSnapshot' or of 'name'");
      given = arguments.string("createSnapshot");
    }
    if (given) versions::check_snapshot_name(*given);
    past_of(op);
    append_snapshot(op.services().databases->declare_snapshot(std::string(given.value_or("")), [&] { op.check_interrupt(); }),
                    reply);
  }
};

class ListSnapshots : public Command {
 public:
  std::string_view name() const override { return "listSnapshots"; }
  std::string_view help() const override {
    return "the declared snapshots, oldest first\n{ listSnapshots: 1, cursor: { batchSize: <int> } }";
  }
  std::optional<FieldNames> fields() const override {
    static constexpr std::string_view names[] = {"cursor"};
    return names;
  }
  OnSecondary on_secondary() const override { return OnSecondary::opted_in; }

  void run(OperationContext& op, const Request& request, bson::Builder& reply) override {
    std::vector<bson::Document> documents;
    for (const DeclaredSnapshot& snapshot : past_of(op).snapshots().all()) {
      bson::Builder out;
      append_snapshot(snapshot, out);
      documents.push_back(out.done());
    }
    reply_list(op, request, request.db + ".$cmd.listSnapshots", std::move(documents), reply);
  }
};

class DropSnapshot : public Command {
 public:
  std::string_view name() const override { return "dropSnapshot"; }
  std::string_view help() const override {
    return "forget a snapshot\n{ dropSnapshot: <name or s<number>> }\nWhat no other one shows is freed in the background.";
  }
  std::optional<FieldNames> fields() const override { return FieldNames(); }
  bool writes() const override { return true; }

  void run(OperationContext& op, const Request& request, bson::Builder& reply) override {
    const std::string ref(Arguments(request).required_string("dropSnapshot"));
    versions::past::Past& past = past_of(op);
    const auto named = past.snapshots().find(ref);
    // A time names whichever is the newest then: not to be dropped by.
    const bool meant = named && (named->name == ref || "s" + std::to_string(named->number) == ref);
    if (!meant || !op.services().databases->drop_snapshot(named->number))
      throw OperationError(ErrorCode::namespace_not_found, "there is no snapshot '" + ref + "'");
    append_snapshot(*named, reply);
  }
};

}  // namespace

std::unique_ptr<Command> make_create_snapshot_command() {
  return std::make_unique<CreateSnapshot>();
}
std::unique_ptr<Command> make_list_snapshots_command() {
  return std::make_unique<ListSnapshots>();
}
std::unique_ptr<Command> make_drop_snapshot_command() {
  return std::make_unique<DropSnapshot>();
}

}  // namespace server
