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

// A DocumentSequence is the documents that came beside the body (OP_MSG kind 1): `documents` of an insert, `updates`, `deletes`.
// It borrows from the message.
struct DocumentSequence {
  std::string name;
  std::vector<bson::DocumentView> documents;
};

struct Request {
  std::string command;  // as the client wrote it; it may be an alias
  std::string db;       // from $db; it may carry a ref: shop@dev
  bson::DocumentView body;
  std::vector<DocumentSequence> sequences;

  // Returns nullptr if the client sent none of that name.
  const DocumentSequence* sequence(std::string_view name) const;

  // Returns the documents of a field wherever the client put them: in a sequence or in an array of the body. The result is empty
  // if the field is missing. Throws TypeMismatch if the field isn't an array of objects.
  std::vector<bson::DocumentView> documents(std::string_view name) const;

  // Returns the collection that the first field names. Throws InvalidNamespace as MongoDB does if the field isn't a string or not
  // a valid name.
  std::string collection() const;
  std::string ns() const { return db + "." + collection(); }
};

// opcounters and latencies count an operation under its OpKind. For a bulkWrite the opcounters count each statement under the
// statement's kind.
enum class OpKind { command, query, get_more, insert, update, remove, bulk_write };
inline constexpr size_t op_kinds = 7;
// Such an operation is counted for its collections, and profiled, one statement at a time (statement.h); others are as a whole.
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

  // The top-level fields that the command knows, without its own name and the generic arguments; any other field is refused
  // (40415). If it returns nullopt, unknown fields are ignored, as some of MongoDB's oldest commands do.
  virtual std::optional<FieldNames> fields() const { return std::nullopt; }
  // Messages about fields call the command by this name: MongoDB says FindCommandRequest for find.
  virtual std::string_view parser_name() const { return name(); }

  virtual bool admin_only() const { return false; }
  // If true, the command counts as a write and takes a writeConcern.
  virtual bool writes() const { return false; }
  virtual bool takes_write_concern() const { return writes(); }
  virtual bool takes_read_concern() const { return kind() == OpKind::query; }
  virtual bool takes_snapshot() const { return false; }  // it accepts readConcern snapshot outside of a transaction
  // If true, the first field is a collection's name, which dispatch checks before run().
  virtual bool takes_collection() const { return false; }
  // If true, the first field is the collection's name when it is a string.
  virtual bool may_take_collection() const { return takes_collection(); }
  virtual OpKind kind() const { return OpKind::command; }
  // If true, the command is part of MongoDB's Stable API v1, and so allowed with apiStrict.
  virtual bool stable_api() const { return false; }
  // If true, a client may run the command before it has authenticated.
  virtual bool before_auth() const { return false; }
  // If true, logs and currentOp must not show the request (it has passwords).
  virtual bool sensitive(const Request&) const { return false; }

  // OnSecondary says whether a member that isn't primary runs the command. `opted_in`: it does for requests with a read
  // preference other than primary.
  enum class OnSecondary { never, opted_in, always };
  virtual OnSecondary on_secondary() const {
    return writes() ? OnSecondary::never : takes_read_concern() ? OnSecondary::opted_in : OnSecondary::always;
  }
  // If true, a request with lsid and txnNumber takes effect once, however often it is sent.
  virtual bool retryable() const { return false; }

  // InTransaction says whether the command may be a part of a client's transaction of several statements. `later`: it may, but
  // not as the first.
  enum class InTransaction { refused, later, allowed };
  virtual InTransaction in_transaction() const { return InTransaction::refused; }
  virtual bool ends_transaction() const { return false; }

  // Returns how many milliseconds dispatch lets pass before run(), with no thread waiting; it waits no longer once the topology
  // changes. The awaitable hello uses it.
  virtual int64_t await_topology_ms(const Services&, const Request&) const { return 0; }

  // Appends the fields of the reply; dispatch adds `ok`. A failure is thrown as OperationError: then dispatch drops what was
  // appended until then.
  virtual void run(OperationContext& op, const Request& request, bson::Builder& reply) = 0;

  // Runs counts how often the command was run, and how often it failed, for serverStatus' metrics.commands.
  struct Runs {
    base::Counter total, failed;
  };
  mutable Runs runs;
};

// Returns the `op` of currentOp and the profiler: "query", "insert", "getmore" …
std::string_view kind_name(const Command* command);

// Returns the namespace that logs and currentOp show for a request: "shop.pages", or "shop.$cmd". `command` is nullptr if there
// is none of the request's name.
std::string shown_namespace(const Request& request, const Command* command);

}  // namespace server
