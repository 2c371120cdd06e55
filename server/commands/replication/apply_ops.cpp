// applyOps replays entries of a log. mongorestore replays a dumped oplog with it, one entry a command.
#include <array>

#include "base/bytes.h"
#include "base/error.h"
#include "bson/json.h"
#include "server/core/arguments.h"
#include "server/core/command.h"
#include "server/core/command_registry.h"
#include "server/core/generic_arguments.h"
#include "server/core/names.h"
#include "server/core/operation.h"
#include "server/core/services.h"
#include "server/write/detailed_error.h"
#include "server/write/namespaces.h"
#include "server/write/replay.h"
#include "server/write/target.h"
#include "storage/collections/catalog.h"
#include "storage/store.h"

namespace server {
namespace {

using base::ErrorCode;
using base::OperationError;

constexpr int nested_max = 10;  // applyOps within applyOps
constexpr int32_t uuid_of_another = 3318200;

// A LoggedCommand says which command replays an entry, and which errors it may have because the log is replayed over a later
// state.
struct LoggedCommand {
  std::string_view logged;   // the first field of the entry's `o`
  std::string_view command;  // the command that replays it; empty: none does
  std::array<ErrorCode, 2> passed = {};
};

constexpr std::array<LoggedCommand, 16> logged_commands = {{
    {"create", "create"},
    {"drop", "drop", {ErrorCode::namespace_not_found}},
    {"dropDatabase", "dropDatabase", {ErrorCode::namespace_not_found}},
    {"renameCollection", "renameCollection", {ErrorCode::namespace_not_found, ErrorCode::namespace_exists}},
    {"collMod", "collMod", {ErrorCode::namespace_not_found, ErrorCode::index_not_found}},
    {"convertToCapped", "convertToCapped", {ErrorCode::namespace_not_found}},
    {"dropIndexes", "dropIndexes", {ErrorCode::namespace_not_found, ErrorCode::index_not_found}},
    {"dropIndex", "dropIndexes", {ErrorCode::namespace_not_found, ErrorCode::index_not_found}},
    {"deleteIndexes", "dropIndexes", {ErrorCode::namespace_not_found, ErrorCode::index_not_found}},
    {"deleteIndex", "dropIndexes", {ErrorCode::namespace_not_found, ErrorCode::index_not_found}},
    {"createIndexes", ""},
    {"startIndexBuild", ""},
    {"commitIndexBuild", ""},
    {"abortIndexBuild", ""},
    {"commitTransaction", ""},
    {"abortTransaction", ""},
}};

[[noreturn]] void bad(const std::string& message) {
  throw OperationError(ErrorCode::bad_value, message);
}

void check_options(const bson::DocumentView body) {
  if (body.find("preCondition").exists())
    throw OperationError(6711600, "applyOps command no longer supports the 'preCondition' option");
  if (body.find("alwaysUpsert").truthy())
    throw OperationError(6711601, "applyOps command no longer supports the 'alwaysUpsert' option");
  if (body.find("prepare").truthy()) bad("applyOps command can't have 'prepare' field");
  if (body.find("partialTxn").truthy()) throw OperationError(31056, "applyOps command can't have 'partialTxn' field.");
  if (body.find("count").exists()) throw OperationError(31240, "applyOps command can't have 'count' field.");
}

class Player {
 public:
  explicit Player(OperationContext& op) : op_(op) {}

  void play(bson::DocumentView entries, int depth) {
    if (depth > nested_max)
      throw OperationError(ErrorCode::failed_to_parse, "Maximum depth of nested applyOps commands exceeded");
    for (const auto& element : entries) {
      if (!element.is_object()) {
        throw OperationError(ErrorCode::type_mismatch,
                             "BSON field 'applyOps.applyOps." + std::string(element.name) + "' is the wrong type '" +
                                 std::string(bson::type_name(element.type())) + "', expected type 'object'");
      }
    }
    for (const auto& element : entries) {
      op_.check_interrupt();
      play_one(element.as_document(), entries.count(), depth);
    }
  }

  void append(bson::Builder& out) const {
    out.append("applied", static_cast<int32_t>(results_.size()));
    auto shown = out.array("results");
    for (const bool result : results_) shown.append(result);
  }

  bool failed() const { return failed_; }
  bson::Document details() const {
    bson::Builder out;
    append(out);
    return out.done();
  }

 private:
  void play_one(bson::DocumentView entry, size_t together, int depth) {
    const Arguments arguments("OplogEntryBase", entry);
    const std::string_view kind = arguments.required_string("op");
    if (kind == "n") return;
    if (kind != "i" && kind != "u" && kind != "d" && kind != "c") {
      bad("Enumeration value '" + std::string(kind) + "' for field 'OplogEntryBase.op' is not a valid value.");
    }
    const std::string_view ns = arguments.required_string("ns");
    const bson::DocumentView o = arguments.required_object("o");
    if (kind == "c" && o.first().name == "applyOps") {
      if (!o.first().is_array()) bad("applyOps has to be an array");
      return play(o.first().as_document(), depth + 1);
    }
    results_.push_back(false);
    if (kind == "c") {
      run_command(ns, o, entry.find("ui").exists(), together);
      results_.back() = true;
      return;
    }
    change(kind.front(), ns, o, arguments);
  }

  // A document that can't be changed doesn't stop the others.
  void change(char kind, std::string_view ns, bson::DocumentView o, const Arguments& arguments) {
    if (!valid_namespace(ns)) throw OperationError(ErrorCode::invalid_namespace, "invalid ns: " + std::string(ns));
    write::LoggedChange change;
    change.op = kind;
    change.ns = ns;
    change.o = o;
    change.o2 = kind == 'u' ? arguments.required_object("o2") : bson::DocumentView();
    change.upsert = arguments.boolean("b").value_or(false);
    write::check_replayable(op_, change);
    check_uuid(ns, arguments.any("ui"));
    try {
      write::replay(op_, change);
      results_.back() = true;
    } catch (const OperationError&) {
      op_.check_interrupt();
      failed_ = true;
    }
  }

  void check_uuid(std::string_view ns, const bson::Element& uuid) {
    if (!uuid.exists()) return;
    if (uuid.type() != bson::Type::binary || uuid.as_binary().subtype != 4 || uuid.as_binary().bytes.size() != 16) {
      throw OperationError(ErrorCode::invalid_uuid, "uuid must be a 16-byte binary field with UUID (4) subtype");
    }
    const auto collection = write::store_of(op_).catalog().find(ns);
    if (collection && collection->uuid_bytes() == uuid.as_binary().bytes) return;
    throw OperationError(uuid_of_another, "Namespace '" + std::string(ns) + "' and UUID '" +
                                              base::to_hex(uuid.as_binary().bytes) + "' point to different collections");
  }

  static bool valid_namespace(std::string_view ns) {
    return ns.find('.') != ns.npos && valid_database_name(write::database_of(ns)) &&
           valid_collection_name(write::collection_of(ns));
  }

  void run_command(std::string_view ns, bson::DocumentView o, bool has_uuid, size_t together) {
    const std::string_view db = write::database_of(ns);
    if (ns.find('.') == ns.npos || write::collection_of(ns) != "$cmd" || !valid_database_name(db)) {
      throw OperationError(ErrorCode::invalid_namespace, "invalid ns: " + std::string(ns));
    }
    const std::string logged(o.first().name);
    const auto* known = find(logged);
    if (!known) bad("Unknown oplog entry command type: " + logged + " Object field: " + bson::to_shell(o));
    Command* command = known->command.empty() ? nullptr : op_.services().commands.find(known->command);
    if (!command)
      throw OperationError(ErrorCode::command_not_supported, "The " + logged + " operation is not supported in applyOps mode");
    if (has_uuid)
      throw OperationError(ErrorCode::command_not_supported,
                           "commands that name a collection by its UUID are not supported in applyOps");
    if (logged == "dropDatabase" && together != 1)
      throw OperationError(6275900, "dropDatabase in an applyOps must be the only entry");
    const bson::Document body = as_command(o, known->command);
    Request request;
    request.command = known->command;
    request.db = command->admin_only() ? "admin" : std::string(db);
    request.body = body;
    run(*command, request, *known);
  }

  void run(Command& command, const Request& request, const LoggedCommand& known) {
    check_known_fields(command, request);
    if (command.takes_collection()) request.collection();
    bson::Builder reply;
    try {
      command.run(op_, request, reply);
    } catch (const OperationError& error) {
      if (error.code() != known.passed[0] && error.code() != known.passed[1]) throw;
      op_.check_interrupt();
    }
  }

  // Returns the command as a client would send it: the log has more fields, and some in another form.
  static bson::Document as_command(bson::DocumentView o, std::string_view command) {
    bson::Builder out;
    for (const auto& field : o) {
      if (field.name == o.first().name)
        out.append(command, static_cast<bson::ValueView>(field));
      else if (field.name == "dropTarget" && !field.is_number())
        out.append("dropTarget", field.type() == bson::Type::binary || field.truthy());
      else if (command == "dropIndexes" && field.name == "key")
        continue;  // it comes beside the name
      else
        out.append_element(field);
    }
    return out.done();
  }

  static const LoggedCommand* find(std::string_view logged) {
    for (const auto& one : logged_commands) {
      if (one.logged == logged) return &one;
    }
    return nullptr;
  }

  OperationContext& op_;
  std::vector<bool> results_;
  bool failed_ = false;
};

class ApplyOps : public Command {
 public:
  std::string_view name() const override { return "applyOps"; }
  std::string_view help() const override { return "internal command to apply oplog entries\n{ applyOps : [ ] }"; }
  std::optional<FieldNames> fields() const override {
    static constexpr std::string_view names[] = {
        "bypassDocumentValidation", "preCondition", "alwaysUpsert", "prepare", "partialTxn", "count"};
    return names;
  }
  bool writes() const override { return true; }

  void run(OperationContext& op, const Request& request, bson::Builder& reply) override {
    const Arguments arguments(request);
    const bson::DocumentView entries = arguments.required_array("applyOps");
    arguments.loose_boolean("bypassDocumentValidation");
    check_options(request.body);
    Player player(op);
    try {
      player.play(entries, 0);
    } catch (const OperationError& error) {
      throw write::DetailedError(error.code(), error.what(), player.details());
    }
    if (player.failed()) {
      throw write::DetailedError(ErrorCode::unknown_error, "applyOps had one or more errors applying ops", player.details());
    }
    player.append(reply);
  }
};

}  // namespace

std::unique_ptr<Command> make_apply_ops_command() {
  return std::make_unique<ApplyOps>();
}

}  // namespace server
