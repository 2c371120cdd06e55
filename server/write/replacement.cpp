#include "server/write/replacement.h"

#include "base/log.h"
#include "base/random.h"
#include "server/core/operation.h"
#include "server/core/services.h"
#include "server/query/branches/states.h"
#include "server/write/batch.h"
#include "server/write/copy.h"
#include "server/write/keep_for_log.h"
#include "server/write/namespaces.h"
#include "storage/store.h"

namespace server::write {

using base::ErrorCode;
using base::OperationError;

namespace {

constexpr int branch_left_behind = 7200402;

}  // namespace

bool Replacement::applies(OperationContext& op, const std::string& ns) {
  versions::Databases* const databases = op.services().databases;
  if (!databases) return false;
  const versions::DatabaseName name = versions::split_name(database_of(ns));
  if (name.ref) databases->home(ns);
  return databases->has_views(name.database);
}

Replacement::Replacement(OperationContext& op, const std::string& ns, const storage::CollectionOptions& options)
    : op_(op), database_(query::branched_database(op, database_of(ns))) {
  storage::Catalog& catalog = store_of(op).catalog();
  const std::string aside = unfinished_name(), name(collection_of(ns));
  const auto there = catalog.open(database_->name() + "." + name);
  if (there && there->options().capped)
    throw OperationError(ErrorCode::illegal_operation,
                         "cannot replace " + there->ns() + ", a capped collection, which has no branches");
  {
    const auto indexes = database_->keep_indexes(op.interrupted());
    in_transaction(op, [&](storage::Transaction& transaction) {
      branch_ = database_->branch(transaction, versions::ref_of_database(database_of(ns))).name;
      database_->create_empty(transaction, aside, {.name = branch_});
    });
  }
  aside_ = aside;
  ns_ = database_->name() + "@" + versions::escaped(aside_) + "." + name;
  try {
    collection_ = catalog.create(ns_, options);
  } catch (...) {
    take_back();
    throw;
  }
}

Replacement::~Replacement() {
  take_back();
}

void Replacement::finish(const Also& also) {
  in_transaction(op_, [&](storage::Transaction& transaction) {
    const versions::Branch aside = database_->branch(transaction, {.name = aside_});
    const versions::Branch branch = database_->branch(transaction, {.name = branch_});
    database_->take_collection(transaction, branch, aside, collection_->id(), keep_for_log(op_));
    if (also) also(transaction, branch);
    database_->drop(transaction, aside_, keep_for_log(op_));
  });
  database_->forget_views(aside_);
  aside_.clear();
}

namespace {

std::vector<storage::IndexSpec> secondary_indexes(const storage::Collection& collection) {
  std::vector<storage::IndexSpec> specs;
  for (const auto& index : collection.indexes()) {
    if (!index->is_id() && index->ready()) specs.push_back(index->spec());
  }
  return specs;
}

}  // namespace

void rename_on_branch(OperationContext& op, const std::string& from, const std::string& to, bool drop_target) {
  op.begin_writing();
  storage::Catalog& catalog = store_of(op).catalog();
  for (;;) {
    const auto source = catalog.find(from);
    if (!source) throw OperationError(ErrorCode::namespace_not_found, "Source collection " + from + " does not exist");
    Replacement target(op, to, source->options());
    catalog.create_indexes(target.collection(), secondary_indexes(*source), {.interrupted = op.interrupted()});
    const auto alone = hold_both(op, *source, *target.collection());
    if (catalog.find(from) != source) continue;  // it was dropped meanwhile
    if (!drop_target && catalog.find(to)) throw OperationError(ErrorCode::namespace_exists, "target namespace exists");
    copy_documents(op, *source, target.collection());
    const auto database = query::branched_database(op, database_of(from));
    return target.finish([&](storage::Transaction& transaction, const versions::Branch& branch) {
      database->drop_collection(transaction, branch, source->id(), keep_for_log(op));
    });
  }
}

void Replacement::take_back() noexcept {
  if (aside_.empty()) return;
  try {
    op_.services().databases->drop_branch(*database_, aside_);
  } catch (const std::exception& error) {
    base::log(base::Severity::warning, base::LogComponent::command, branch_left_behind,
              "An unfinished branch could not be dropped; the next start drops it",
              base::Attributes().add("db", database_->name()).add("branch", aside_).add("error", error.what()));
  }
}

}  // namespace server::write
