#include "server/core/client_transaction.h"

#include <algorithm>
#include <atomic>
#include <limits>
#include <thread>

#include "base/clock.h"
#include "base/clock_time.h"
#include "base/log.h"
#include "bson/builder.h"
#include "replication/coordinator.h"
#include "server/core/key_claims.h"
#include "server/core/operation.h"
#include "server/core/services.h"
#include "server/core/transaction_registry.h"
#include "storage/store.h"

namespace server {

using base::ErrorCode;
using base::OperationError;
using storage::RecordId;
using storage::Stamp;

namespace {

constexpr auto lock_step = std::chrono::microseconds(500);
constexpr size_t change_bytes = sizeof(ClientTransaction::Change) + 64;  // beside its document
constexpr Stamp any_generation = std::numeric_limits<Stamp>::max();

std::shared_ptr<storage::Transaction> begin_draft(storage::Store& store, const std::optional<ReadMoment>& moment) {
  constexpr auto draft = storage::Transaction::Mode::draft;
  if (moment && !moment->is_declared()) return std::make_shared<storage::Transaction>(store, *moment->snapshot, draft);
  return std::make_shared<storage::Transaction>(store, draft);
}

std::string stand_in_name() {
  static std::atomic<uint64_t> last{0};
  return std::string(stand_in_prefix) + std::to_string(++last);
}

bool has_index(const storage::Collection& collection, const storage::IndexSpec& spec) {
  const auto there = collection.index(spec.name);
  return there && there->spec().document.bytes() == spec.document.bytes();
}

bson::Document id_of(bson::DocumentView document) {
  bson::Builder out;
  out.append("_id", static_cast<bson::ValueView>(document.find("_id")));
  return out.done();
}

}  // namespace

ClientTransaction::ClientTransaction(OperationContext& op, bson::BytesView session, int64_t number)
    : services_(op.services()),
      session_(session),
      number_(number),
      term_(services_.replica_set->write_term()),
      moment_(op.moment),
      draft_hold_(services_.store->engine().hold_draft(op.interrupted())),
      draft_(begin_draft(*services_.store, moment_)),
      memory_(&services_.memory) {}

ClientTransaction::~ClientTransaction() {
  end_draft();
  let_go();
}

void ClientTransaction::end_draft() {
  if (!draft_) return;
  draft_->rollback();
  draft_.reset();
  draft_hold_ = {};
}

void ClientTransaction::let_go() {
  for (auto& [ns, use] : uses_) {
    use.schema = {};
    if (!use.creates_collection) continue;
    try {
      services_.store->catalog().drop(use.collection->ns());
    } catch (const OperationError& error) {  // the next start tries again
      base::log(base::Severity::warning, base::LogComponent::storage, 9200015, "A transaction's collection couldn't be dropped",
                base::Attributes().add("ns", ns).add("error", error.what()));
    }
  }
  uses_.clear();
}

namespace {

// Counts one more while it lives. Only its thread changes the counter.
class Counted {
 public:
  explicit Counted(std::atomic<int32_t>& counter) : counter_(counter) { add(1); }
  ~Counted() { add(-1); }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;

 private:
  void add(int32_t amount) { counter_.store(counter_.load(std::memory_order_relaxed) + amount, std::memory_order_relaxed); }
  std::atomic<int32_t>& counter_;
};

}  // namespace

// A transaction holds many locks, and whoever changes a schema may want several too: it doesn't wait long for any.
base::SharedHold ClientTransaction::hold_schema(OperationContext& op, const std::string& ns,
                                                base::InterruptibleMutex& mutex) const {
  const int64_t patience_ms = services_.transactions->lock_timeout_ms;
  const auto begun = base::now(services_.clock);
  if (base::SharedHold hold(mutex, std::try_to_lock); hold) return hold;
  // As in mongod, a transaction wants the lock as a writer, whatever its statement does.
  const Counted waits(op.locks.waiting_to_write);
  for (;;) {
    base::SharedHold hold(mutex, std::try_to_lock);
    if (hold) return hold;
    op.check_interrupt();
    if (patience_ms >= 0 && base::now(services_.clock) - begun >= std::chrono::milliseconds(patience_ms)) {
      throw TransientTransactionError(ErrorCode::lock_timeout, "Unable to acquire the schema lock of '" + ns + "' within " +
                                                                   std::to_string(patience_ms) + "ms.");
    }
    std::this_thread::sleep_for(lock_step);
  }
}

ClientTransaction::Use* ClientTransaction::open(OperationContext& op, const std::string& ns) {
  if (const auto found = uses_.find(ns); found != uses_.end()) return &found->second;
  for (;;) {
    auto collection = services_.store->catalog().open(ns);
    if (!collection) return nullptr;
    Use use{.ns = ns, .collection = std::move(collection), .schema = {}, .options = {}, .indexes = {}};
    use.schema = hold_schema(op, ns, use.collection->schema_mutex());
    if (use.collection->dropped()) continue;
    if (use.collection->indexes_since() >= draft_->visible_below()) {
      throw TransientTransactionError(ErrorCode::snapshot_unavailable,
                                      "Unable to read from a snapshot due to pending collection catalog changes; please retry "
                                      "the operation. The indexes of " +
                                          ns + " were changed after the transaction began.");
    }
    return &uses_.emplace(ns, std::move(use)).first->second;
  }
}

ClientTransaction::Use& ClientTransaction::create(OperationContext& op, const std::string& ns,
                                                  const storage::CollectionOptions& options) {
  if (open(op, ns)) throw OperationError(ErrorCode::namespace_exists, "Collection " + ns + " already exists.");
  auto collection = services_.store->catalog().create(stand_in_name(), options, {}, {.interrupted = op.interrupted()});
  Use use{
      .ns = ns, .collection = std::move(collection), .schema = {}, .creates_collection = true, .options = options, .indexes = {}};
  return uses_.emplace(ns, std::move(use)).first->second;
}

storage::CreateIndexesResult ClientTransaction::create_indexes(OperationContext& op, Use& use,
                                                               const std::vector<storage::IndexSpec>& specs) {
  const int before = static_cast<int>(use.collection->indexes().size());
  if (std::all_of(specs.begin(), specs.end(), [&](const auto& spec) { return has_index(*use.collection, spec); }))
    return {before, before};
  if (!use.creates_collection) {
    throw OperationError(ErrorCode::operation_not_supported_in_transaction,
                         "Cannot create new indexes on existing collection " + use.ns + " in a multi-document transaction.");
  }
  if (use.collection->scan(*draft_, storage::Direction::forward)->next()) {
    throw OperationError(ErrorCode::operation_not_supported_in_transaction,
                         "Cannot create new indexes on non-empty collection " + use.ns + " in a multi-document transaction.");
  }
  const auto made = services_.store->catalog().create_indexes(use.collection, specs, {.interrupted = op.interrupted()});
  use.indexes.insert(use.indexes.end(), specs.begin(), specs.end());
  return made;
}

// A transaction that is about to commit was first.
void ClientTransaction::check_claims(const Use& use, std::optional<RecordId> record, const bson::DocumentView* document) const {
  server::check_claims(services_.transactions->claims, *use.collection, record, document);
}

Stamp ClientTransaction::generation_of(const Use& use, RecordId record, Stamp superseded) const {
  if (superseded != 0) return superseded;
  // Another view goes on showing the record.
  return use.collection->records().generation_not_after(*draft_, record, any_generation, true).value_or(0);
}

void ClientTransaction::list(Change change) {
  held_.add(change_bytes + change.document.size());
  changes_.push_back(std::move(change));
  services_.transactions->check_size(*this);
}

RecordId ClientTransaction::insert(const Use& use, bson::DocumentView document) {
  const RecordId record = use.collection->insert(*draft_, document).id;
  check_claims(use, std::nullopt, &document);
  list({.kind = Change::Kind::insert, .use = &use, .record = record, .document = bson::Document(document)});
  return record;
}

void ClientTransaction::update(const Use& use, RecordId record, bson::DocumentView before, bson::DocumentView after,
                               const replication::UpdateForm& form) {
  Change change{.kind = Change::Kind::update, .use = &use, .record = record, .document = bson::Document(after), .form = form};
  const storage::Updated updated = use.collection->update(*draft_, record, before, change.document);
  const bson::DocumentView written = change.document;
  check_claims(use, record, &written);
  change.becomes = updated.record;
  change.generation = generation_of(use, record, updated.before.generation);
  list(std::move(change));
}

void ClientTransaction::remove(const Use& use, RecordId record, bson::DocumentView before) {
  Change change{.kind = Change::Kind::remove, .use = &use, .record = record, .document = id_of(before)};
  // A removed record has no generation any more, unless another view shows it.
  const storage::Superseded superseded = use.collection->remove(*draft_, record, before);
  check_claims(use, record, nullptr);
  change.generation = generation_of(use, record, superseded.generation);
  list(std::move(change));
}

void drop_stand_ins(storage::Catalog& catalog) {
  for (const auto& collection : catalog.collections("local")) {
    if (collection->ns().starts_with(stand_in_prefix)) catalog.drop(collection->ns());
  }
}

}  // namespace server
