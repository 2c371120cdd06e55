// A Target is the collection that a write goes to, held in place while a
// transaction is open.
#pragma once

#include <memory>
#include <string_view>

#include "server/core/client_transaction.h"
#include "server/core/schema_hold.h"
#include "storage/collections/collection.h"

namespace storage {
class Store;
}

namespace server {
class OperationContext;
}

namespace server::write {

// A target holds the schema lock shared: indexes and name stay as they are while it lives. Don't hold it across a wait for the
// client, nor twice by one thread. In a client's transaction the transaction holds the lock, to its end.
class Target {
 public:
  // Returns an empty target if there is no such collection. Throws CommandNotSupported for one that takes no writes.
  static Target open(OperationContext& op, std::string_view ns);
  static Target open_or_create(OperationContext& op, std::string_view ns);
  // Works as `open` does outside of a client's transaction.
  static Target open_anew(OperationContext& op, std::string_view ns);
  // The caller holds the schema lock itself.
  static Target held(std::shared_ptr<storage::Collection> collection);

  static Target in_transaction(OperationContext& op, ClientTransaction::Use* use);

  explicit operator bool() const { return collection_ != nullptr; }
  // Within a client's transaction: what it knows of the collection.
  ClientTransaction::Use* use() const { return use_; }
  storage::Collection& operator*() const { return *collection_; }
  storage::Collection* operator->() const { return collection_.get(); }
  const std::shared_ptr<storage::Collection>& shared() const { return collection_; }

 private:
  std::shared_ptr<storage::Collection> collection_;
  SchemaHold schema_;
  ClientTransaction::Use* use_ = nullptr;  // the transaction holds the schema lock
};

// Throws if the collection can't be written to: it is in a snapshot, a tag or a commit, or is a view of something else.
void check_writable(const storage::Collection& collection);
// Does the same for a name that no collection has; throws CommandNotSupportedOnView (166) if a view has it.
void check_writable(OperationContext& op, std::string_view ns);

// Returns the engine; throws if the server was assembled without one.
storage::Store& store_of(OperationContext& op);

}  // namespace server::write
