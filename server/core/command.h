// A command is one class in one file of commands/. It names itself, says what
// fields it knows, and appends its answer.
//
//   bytes -> wire -> Request -> dispatch -> Command::run -> reply -> bytes
//
// Dispatch has already checked the database name, the generic arguments
// (lsid, $clusterTime, readConcern, maxTimeMS, …), unknown fields and who may
// run it where. It adds `ok`, turns an OperationError into the error reply and
// counts, times and logs. One Command serves all connections at once, so run()
// keeps its state in locals and in what the Services lend.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/counters.h"
#include "bson/builder.h"
#include "bson/document.h"

namespace server {

class OperationContext;
struct Services;

// Documents that came beside the body (OP_MSG kind 1): `documents` of an
// insert, `updates`, `deletes`. Borrowed from the message.
struct DocumentSequence {
  std::string name;
  std::vector<bson::DocumentView> documents;
};

struct Request {
  std::string command;  // as the client wrote it: may be an alias
  std::string db;       // from $db; may carry a ref: shop@dev
  bson::DocumentView body;
  std::vector<DocumentSequence> sequences;

  // nullptr: the client sent none of that name.
  const DocumentSequence* sequence(std::string_view name) const;

  // The documents of a field wherever the client put them: in a sequence or in
  // an array of the body. Empty when the field is missing; throws TypeMismatch
  // where it isn't an array of objects.
  std::vector<bson::DocumentView> documents(std::string_view name) const;

  // The collection named by the first field. Throws InvalidNamespace as
  // MongoDB does when it isn't a string or not a valid name.
  std::string collection() const;
  std::string ns() const { return db + "." + collection(); }
};

// What opcounters and latencies count an operation as. Of a bulkWrite the opcounters count the statements, as what each is.
enum class OpKind { command, query, get_more, insert, update, remove, bulk_write };
inline constexpr size_t op_kinds = 7;
// Counted for a collection, and profiled, one statement at a time (statement.h); others as a whole.
constexpr bool by_statement(OpKind kind) {
  return kind == OpKind::update || kind == OpKind::remove || kind == OpKind::bulk_write;
}

class Command {
 public:
  using FieldNames = std::span<const std::string_view>;

  virtual ~Command() = default;

  virtual std::string_view name() const = 0;
  virtual std::vector<std::string_view> aliases() const { return {}; }
  virtual std::string_view help() const { return ""; }

  // The top-level fields it knows, its own name and the generic arguments not
  // counted; any other is refused (40415). nullopt: others are ignored, as some
  // of MongoDB's oldest commands do.
  virtual std::optional<FieldNames> fields() const { return std::nullopt; }
  // What messages about fields call it: MongoDB says FindCommandRequest for find.
  virtual std::string_view parser_name() const { return name(); }

  virtual bool admin_only() const { return false; }
  // Counts as a write, and takes a writeConcern.
  virtual bool writes() const { return false; }
  virtual bool takes_write_concern() const { return writes(); }
  virtual bool takes_read_concern() const { return kind() == OpKind::query; }
  virtual bool takes_snapshot() const { return false; }  // readConcern snapshot outside of a transaction
  // The first field is a collection name, checked before run().
  virtual bool takes_collection() const { return false; }
  // Whether its first field is the collection's name where it is a string.
  virtual bool may_take_collection() const { return takes_collection(); }
  virtual OpKind kind() const { return OpKind::command; }
  // Part of MongoDB's Stable API v1: allowed with apiStrict.
  virtual bool stable_api() const { return false; }
  // Allowed before a client has authenticated.
  virtual bool before_auth() const { return false; }
  // What logs and currentOp must not show (passwords).
  virtual bool sensitive(const Request&) const { return false; }

  // Whether a member that isn't primary runs it: reads that say so do (a read preference other than primary).
  enum class OnSecondary { never, opted_in, always };
  virtual OnSecondary on_secondary() const {
    return writes() ? OnSecondary::never : takes_read_concern() ? OnSecondary::opted_in : OnSecondary::always;
  }
  // With lsid and txnNumber it runs once, however often it is sent.
  virtual bool retryable() const { return false; }

  // Time to let pass before run(), with no thread waiting, or until the
  // topology changes: the awaitable hello. Milliseconds.
  virtual int64_t await_topology_ms(const Services&, const Request&) const { return 0; }

  // Appends the fields of the reply; dispatch adds `ok`. A failure is thrown as
  // OperationError: what was appended until then is dropped.
  virtual void run(OperationContext& op, const Request& request, bson::Builder& reply) = 0;

  // How often it was run, and failed: serverStatus' metrics.commands.
  struct Runs {
    base::Counter total, failed;
  };
  mutable Runs runs;
};

// The `op` of currentOp and the profiler: "query", "insert", "getmore" …
std::string_view kind_name(const Command* command);

// What an operation is about, for logs and currentOp: "shop.pages", or "shop.$cmd". `command`: nullptr where there is none of
// that name.
std::string shown_namespace(const Request& request, const Command* command);

}  // namespace server
