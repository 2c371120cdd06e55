#include "replication/local_document.h"

#include <shared_mutex>

#include "base/error.h"
#include "base/log.h"
#include "bson/validate.h"

namespace replication {
namespace {

using base::ErrorCode;
using base::OperationError;
using storage::Transaction;

constexpr int log_restored = 7100065;
constexpr char copies_table[] = "local-documents";

// Returns why the work failed if that was damage; an empty string if it didn't fail.
template <class Work>
std::string damage_of(Work work) {
  try {
    work();
    return {};
  } catch (const OperationError& damage) {
    if (damage.code() != ErrorCode::data_corruption_detected) throw;
    return damage.what();
  }
}

void log_again(const std::string& ns, const std::string& which, const std::string& damage) {
  base::log(base::Severity::warning, base::LogComponent::repl, log_restored,
            "One of the two copies of a member's own document is damaged; it is made anew from the other",
            base::Attributes().add("ns", ns).add("damaged", which).add("error", damage));
}

}  // namespace

std::optional<bson::Document> read_local(storage::Store& store, std::string_view ns) {
  const auto collection = store.catalog().open(ns);
  if (!collection) return std::nullopt;
  const std::shared_lock schema(collection->schema_mutex());
  Transaction transaction(store, Transaction::Mode::read);
  const auto scan = collection->scan(transaction, storage::Direction::forward);
  if (!scan->next()) return std::nullopt;
  return bson::Document(scan->document());
}

bool was_member(storage::Store& store) {
  bool there = false;
  return !damage_of([&] { there = read_local(store, set_config_ns).has_value(); }).empty() || there;
}

LocalDocument::LocalDocument(storage::Store& store, std::string_view ns)
    : store_(store), ns_(ns), copies_(store.engine().open_table(copies_table, {.allocation_bytes = 512})) {
  std::optional<bson::Document> document, copy;
  const std::string damage = damage_of([&] { document = read(); });
  const std::string copy_damage = damage_of([&] { copy = copied(); });
  if (!damage.empty() && !copy) {
    throw OperationError(ErrorCode::data_corruption_detected,
                         ns_ +
                             " is damaged, and so is its copy: empty the data directory, so that this member copies the data "
                             "of another one, or restore a backup (" +
                             damage + ")");
  }
  if (!copy_damage.empty()) {
    log_again(ns_, copies_table, copy_damage);
    store_.engine().make_empty(copies_);
  }
  if (!damage.empty()) {
    log_again(ns_, ns_, damage);
    store_.catalog().drop(ns_);
    write(*copy);
  } else if (document && (!copy || copy->bytes() != document->bytes())) {
    storage::in_transaction(store_, [&](Transaction& transaction) { copies_.put(transaction, ns_, document->bytes()); });
  }
}

std::optional<bson::Document> LocalDocument::copied() const {
  Transaction transaction(store_, Transaction::Mode::read);
  const auto bytes = copies_.get(transaction, ns_);
  if (!bytes) return std::nullopt;
  return bson::Document(bson::validate(*bytes).or_throw());
}

void LocalDocument::put(Transaction& transaction, storage::Collection& collection, bson::DocumentView document) const {
  copies_.put(transaction, ns_, document.bytes());
  const auto scan = collection.scan(transaction, storage::Direction::forward);
  if (!scan->next()) {
    collection.insert(transaction, document);
    return;
  }
  const storage::RecordId record = scan->record();
  const bson::Document before(scan->document());
  scan->save();
  collection.update(transaction, record, before, document);
}

void LocalDocument::write(bson::DocumentView document) const {
  const auto collection = store_.catalog().open_or_create(ns_);
  const std::shared_lock schema(collection->schema_mutex());
  storage::in_transaction(store_, [&](Transaction& transaction) { put(transaction, *collection, document); });
}

}  // namespace replication
