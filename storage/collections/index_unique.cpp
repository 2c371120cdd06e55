// An index becomes unique: its entries are built once more, in the form that unique indexes have, and take the place of the
// others.
#include <algorithm>

#include "bson/builder.h"
#include "storage/collections/catalog_rows.h"
#include "storage/collections/state_before.h"
#include "storage/collections/stored_catalog.h"
#include "storage/engine/internals.h"
#include "storage/engine/names.h"

namespace storage {
namespace {

bson::Document make_unique_command(const StoredCollection& collection, const IndexSpec& spec) {
  bson::Builder command;
  command.append("collMod", collection_of(collection.ns()));
  {
    bson::Builder index = command.object("index");
    index.append("name", spec.name).append("unique", true);
  }
  return command.done();
}

}  // namespace

// The caller holds the schema lock.
void StoredCatalog::make_unique(const Shared& collection, const std::string& ns, const std::shared_ptr<StoredIndex>& before,
                                const IndexSpec& spec, const SchemaChange& how) {
  engine_.internals().require_room(DiskUse::background);
  const auto changing = changing_indexes(*collection, how.interrupted);
  const CollectionEntry old = collection->entry();
  CollectionEntry entry = old;
  entry.indexes.push_back({entry.next_index++, spec.document, false});
  {
    const base::MutexLock ddl(ddl_mutex_);
    in_transaction(engine_, [&](Transaction& transaction) { write_entry(transaction, table_, entry); });
  }
  collection->set_next_index(entry.next_index);
  StoredIndexes built;
  try {
    built.push_back(make_index(entry.id, entry.indexes.back()));
    if (collection->moves()) built.front()->set_shared();
    build_indexes(engine_, *collection, built, KeyLimits::none, how.interrupted, how.progress);
    if (collection->moves()) views_.load()->check_unique(*collection, built, ns, how.interrupted);
    replace_index(collection, before, built.front(), entry, make_unique_command(*collection, spec), how);
  } catch (...) {
    abandon_indexes(collection, entry, built);
    throw;
  }
}

void StoredCatalog::replace_index(const Shared& collection, const std::shared_ptr<StoredIndex>& before,
                                  const std::shared_ptr<StoredIndex>& after, CollectionEntry entry, const bson::Document& command,
                                  const SchemaChange& how) {
  IndexEntry last = std::move(entry.indexes.back());
  last.ready = true;
  entry.indexes.pop_back();
  for (IndexEntry& index : entry.indexes) {
    if (index.number == before->number()) index = last;
  }
  bson::Builder options;
  options.append("unique", false);
  const bson::Document state = state_before(collection->entry(), options.done());
  {
    const base::MutexLock ddl(ddl_mutex_);
    in_transaction(engine_, [&](Transaction& transaction) {
      transaction.set_replayed(how.replayed);
      log(transaction, *collection, command, state);
      write_over(transaction, *collection, entry);
      remove_multikey(transaction, table_, entry.id, before->number());
    });
  }
  after->set_ready();
  auto indexes = std::make_shared<StoredIndexes>(*collection->stored_indexes());
  std::replace(indexes->begin(), indexes->end(), before, after);
  collection->set_entry(entry);
  collection->set_indexes(std::move(indexes));
  drop_index_table(*collection, *before);
}

}  // namespace storage
