#include <algorithm>

#include "bson/builder.h"
#include "bson/compare.h"
#include "bson/json.h"
#include "storage/collections/state_before.h"
#include "storage/collections/stored_catalog.h"
#include "storage/engine/internals.h"
#include "storage/engine/interruptible_waits.h"
#include "storage/engine/names.h"
#include "storage/format/page_compressor.h"
#include "storage/indexes/index_options.h"
#include "storage/indexes/text_index.h"
#include "storage/indexes/wildcard_index.h"

namespace storage {
namespace {

using base::ErrorCode;
using base::OperationError;

constexpr size_t indexes_max = 64;

// Returns whether two indexes are the same thing, whatever their names. {a: 1} and {a: 1.0} are one key pattern.
bool equivalent(const IndexSpec& a, const IndexSpec& b) {
  return bson::compare(a.key.view(), b.key.view()) == 0 && a.unique == b.unique && a.sparse == b.sparse &&
         bson::compare(a.partial_filter.view(), b.partial_filter.view()) == 0 &&
         bson::same_collation(a.collator.get(), b.collator.get()) && (!a.wildcard || a.wildcard->same_paths(*b.wildcard));
}

bool same_field(const IndexSpec& a, const IndexSpec& b, const char* name) {
  const bson::Element of_a = a.document[name], of_b = b.document[name];
  return of_a.exists() == of_b.exists() && (!of_a.exists() || bson::compare(of_a, of_b) == 0);
}

// An index of locations shows the options that it was given.
bool same_geo_options(const IndexSpec& a, const IndexSpec& b) {
  const auto options = {"bits", "min", "max", "coarsestIndexedLevel", "finestIndexedLevel"};
  return std::all_of(options.begin(), options.end(), [&](const char* name) { return same_field(a, b, name); });
}

// Two indexes may differ in `hidden` and in the versions of their formats.
bool same_options(const IndexSpec& a, const IndexSpec& b) {
  return a.expire_after_seconds == b.expire_after_seconds && prepares_unique(a) == prepares_unique(b) &&
         (!a.text || same_text_options(a, b)) && (!a.geo || same_geo_options(a, b));
}

void refuse_second_text(const std::vector<const IndexSpec*>& known) {
  for (const IndexSpec* one : known) {
    if (!one->text) continue;
    throw OperationError(ErrorCode::cannot_create_index,
                         "only one text index per collection allowed, found existing text index \"" + one->name + "\"");
  }
}

std::string both(const IndexSpec& wanted, const IndexSpec& existing) {
  return " Requested index: " + bson::to_shell(wanted.document) + ", existing index: " + bson::to_shell(existing.document);
}

bool is_clustered(const IndexSpec& spec) {
  return spec.document.view().has("clustered");
}

// The clustered index exists under any name that a client gives it.
bool is_clustered_index(const IndexSpec& wanted, const IndexSpec& clustered) {
  if (bson::compare(wanted.key.view(), clustered.key.view()) == 0) return true;
  if (wanted.name != clustered.name) return false;
  throw OperationError(6100906,
                       "Cannot create an index where the name matches the clusteredIndex but the key does not - indexSpec: " +
                           bson::to_shell(wanted.document) + ", clusteredIndex: " + bson::to_shell(clustered.document));
}

// Returns whether `wanted` exists already; throws when a similar index conflicts with it.
bool exists(const IndexSpec& wanted, const IndexSpec& existing) {
  if (is_clustered(existing)) return is_clustered_index(wanted, existing);
  const bool same = equivalent(wanted, existing);
  if (wanted.name == existing.name) {
    if (!same) {
      throw OperationError(
          ErrorCode::index_key_specs_conflict,
          "An existing index has the same name as the requested index. When index names are not specified, they are auto "
          "generated and can cause conflicts. Please refer to our documentation." +
              both(wanted, existing));
    }
    if (!same_options(wanted, existing)) {
      throw OperationError(
          ErrorCode::index_options_conflict,
          "An equivalent index already exists with the same name but different options." + both(wanted, existing));
    }
    return true;
  }
  if (!same) return false;
  if (same_options(wanted, existing)) {
    throw OperationError(ErrorCode::index_options_conflict, "Index already exists with a different name: " + existing.name);
  }
  throw OperationError(ErrorCode::index_options_conflict,
                       "An equivalent index already exists with a different name and options." + both(wanted, existing));
}

bson::Document create_indexes_command(const StoredCollection& collection, const IndexSpec& spec) {
  bson::Builder command;
  command.append("createIndexes", collection_of(collection.ns())).append_all(spec.document.view());
  return command.done();
}

}  // namespace

std::vector<IndexSpec> missing_indexes(const StoredCollection& collection, const std::vector<IndexSpec>& specs) {
  const auto indexes = collection.stored_indexes();
  std::vector<IndexSpec> missing;
  for (const IndexSpec& wanted : specs) {
    // Names come first: MongoDB reports that conflict first.
    std::vector<const IndexSpec*> known;
    for (const auto& index : *indexes) known.push_back(&index->spec());
    for (const IndexSpec& earlier : missing) known.push_back(&earlier);
    std::stable_partition(known.begin(), known.end(), [&](const IndexSpec* one) { return one->name == wanted.name; });
    const bool there = std::any_of(known.begin(), known.end(), [&](const IndexSpec* one) { return exists(wanted, *one); });
    if (there) continue;
    if (is_clustered(wanted))
      throw OperationError(6243700,
                           "Cannot create index with option 'clustered' that does not match an existing clustered index");
    if (wanted.text) refuse_second_text(known);
    missing.push_back(wanted);
  }
  if (indexes->size() + missing.size() > indexes_max) {
    throw OperationError(ErrorCode::cannot_create_index, "add index fails, too many indexes for " + collection.ns() +
                                                             " key:" + bson::to_shell(missing.back().key));
  }
  return missing;
}

std::shared_ptr<const DocumentPredicate> StoredCatalog::compile(const IndexSpec& spec) const {
  if (spec.partial_filter.empty() || !compiler_) return nullptr;
  return compiler_(spec.partial_filter, spec.collator);
}

std::shared_ptr<StoredIndex> StoredCatalog::make_index(CollectionId collection, const IndexEntry& entry) {
  const std::string& compressor = engine_.options().block_compressor;
  engine_.open_table(index_table_name(collection, entry.number),
                     {.block_compressor = compressor == "zstd" ? PageCompressors::entries_name() : compressor,
                      .leaf_page_bytes = 16 << 10,
                      .allocation_bytes = 512,
                      .prefix_compression = true});
  return describe_index(collection, entry);
}

std::shared_ptr<StoredIndex> StoredCatalog::describe_index(CollectionId collection, const IndexEntry& entry) {
  IndexSpec spec = parse_index_spec(entry.spec);
  auto predicate = compile(spec);
  auto index = std::make_shared<StoredIndex>(engine_, entry.number, std::move(spec),
                                             Table(index_table_name(collection, entry.number)), entry.ready);
  index->set_predicate(std::move(predicate));
  if (entry.types) index->set_tells_types();
  if (entry.multikey_fields) {
    index->multikey_path_set().add_all();  // the past keeps the fields alone
    index->add_multikey_fields(*entry.multikey_fields);
  }
  return index;
}

void StoredCatalog::set_predicate_compiler(PredicateCompiler compiler) {
  std::vector<Shared> all;
  {
    const base::MutexLock ddl(ddl_mutex_);
    compiler_ = std::move(compiler);
    const base::ReaderLock lock(mutex_);
    for (const auto& [id, collection] : by_id_) {
      if (auto stored = std::dynamic_pointer_cast<StoredCollection>(collection)) all.push_back(std::move(stored));
    }
  }
  for (const Shared& collection : all) {
    const base::ExclusiveHold schema(collection->schema_mutex());
    const auto indexes = collection->stored_indexes();
    for (const auto& index : *indexes) index->set_predicate(compile(index->spec()));
  }
}

CreateIndexesResult StoredCatalog::create_indexes(const std::shared_ptr<Collection>& given, const std::vector<IndexSpec>& specs,
                                                  const SchemaChange& how) {
  const Shared collection = stored(given);
  const auto schema = base::hold_exclusively(collection->schema_mutex(), how.interrupted);
  if (collection->dropped()) throw OperationError(ErrorCode::namespace_not_found, "collection was dropped: " + collection->ns());
  const int before = static_cast<int>(collection->stored_indexes()->size());
  const std::vector<IndexSpec> missing = missing_indexes(*collection, specs);
  if (missing.empty()) return {before, before};
  engine_.internals().require_room(DiskUse::background);
  const auto changing = changing_indexes(*collection, how.interrupted);

  const CollectionEntry old = collection->entry();
  CollectionEntry entry = old;
  StoredIndexes begun;
  for (const IndexSpec& spec : missing) {
    if (!spec.partial_filter.empty() && !compiler_) {
      throw OperationError(ErrorCode::cannot_create_index, "partial indexes are not available here");
    }
    compile(spec);  // refuses a bad filter before anything is made
    entry.indexes.push_back({entry.next_index++, spec.document, false});
  }
  {
    const base::MutexLock ddl(ddl_mutex_);
    in_transaction(engine_, [&](Transaction& transaction) { write_entry(transaction, table_, entry); });
  }
  collection->set_next_index(entry.next_index);
  try {
    for (size_t i = old.indexes.size(); i < entry.indexes.size(); ++i) {
      begun.push_back(make_index(entry.id, entry.indexes[i]));
      if (collection->moves()) begun.back()->set_shared();
    }
    build_indexes(engine_, *collection, begun, KeyLimits::of_write(how.replayed != nullptr), how.interrupted, how.progress);
    if (collection->moves()) views_.load()->check_unique(*collection, begun, given->ns(), how.interrupted);
    finish_indexes(collection, entry, begun, how);
  } catch (...) {
    abandon_indexes(collection, entry, begun);
    throw;
  }
  return {before, before + static_cast<int>(begun.size())};
}

// The caller holds the collection's schema lock.
base::ExclusiveHold StoredCatalog::changing_indexes(const StoredCollection& collection,
                                                    const base::Interrupted& interrupted) const {
  if (!collection.moves()) return {};
  return views_.load()->changing_indexes(database_of(collection.ns()), interrupted);
}

void StoredCatalog::finish_indexes(const Shared& collection, const CollectionEntry& begun, const StoredIndexes& built,
                                   const SchemaChange& how) {
  CollectionEntry entry = begun;
  for (IndexEntry& index : entry.indexes) index.ready = true;
  {
    const base::MutexLock ddl(ddl_mutex_);
    in_transaction(engine_, [&](Transaction& transaction) {
      transaction.set_replayed(how.replayed);
      transaction.expect_stamps(built.size());
      for (const auto& index : built) log(transaction, *collection, create_indexes_command(*collection, index->spec()));
      write_over(transaction, *collection, entry);
    });
  }
  collection->set_entry(entry);
  auto indexes = std::make_shared<StoredIndexes>(*collection->stored_indexes());
  for (const auto& index : built) {
    index->set_ready();
    indexes->push_back(index);
  }
  collection->set_indexes(std::move(indexes));
}

// Index numbers are not used twice, since their tables may still wait to be dropped.
void StoredCatalog::abandon_indexes(const Shared& collection, const CollectionEntry& begun, const StoredIndexes& indexes) {
  const InterruptibleWaits uninterrupted(nullptr);
  CollectionEntry entry = begun;
  std::erase_if(entry.indexes, [](const IndexEntry& index) { return !index.ready; });
  {
    const base::MutexLock ddl(ddl_mutex_);
    in_transaction(engine_, [&](Transaction& transaction) {
      write_entry(transaction, table_, entry);
      for (const auto& index : indexes) remove_multikey(transaction, table_, entry.id, index->number());
    });
  }
  collection->set_entry(entry);
  for (const auto& index : indexes) {
    index->set_dropped();
    engine_.drop_table(index->table().name());
  }
}

void StoredCatalog::drop_index(const std::shared_ptr<Collection>& given, std::string_view name, const SchemaChange& how) {
  const Shared collection = stored(given);
  const auto schema = base::hold_exclusively(collection->schema_mutex(), how.interrupted);
  auto indexes = std::make_shared<StoredIndexes>(*collection->stored_indexes());
  const auto found =
      std::find_if(indexes->begin(), indexes->end(), [&](const auto& index) { return index->spec().name == name; });
  if (collection->dropped() || found == indexes->end()) {
    throw OperationError(ErrorCode::index_not_found, "index not found with name [" + std::string(name) + "]");
  }
  const std::shared_ptr<StoredIndex> index = *found;
  const auto changing = changing_indexes(*collection, how.interrupted);
  if (index->is_id()) throw OperationError(ErrorCode::invalid_options, "cannot drop _id index");
  CollectionEntry entry = collection->entry();
  std::erase_if(entry.indexes, [&](const IndexEntry& one) { return one.number == index->number(); });
  bson::Builder command;
  command.append("dropIndexes", collection_of(entry.ns)).append("index", name);
  const bson::Document document = command.done();
  {
    const base::MutexLock ddl(ddl_mutex_);
    in_transaction(engine_, [&](Transaction& transaction) {
      transaction.set_replayed(how.replayed);
      log(transaction, *collection, document, index->spec().document);
      write_over(transaction, *collection, entry);
      remove_multikey(transaction, table_, entry.id, index->number());
    });
  }
  indexes->erase(found);
  collection->set_entry(entry);
  collection->set_indexes(std::move(indexes));
  drop_index_table(*collection, *index);
}

void StoredCatalog::alter_index(const std::shared_ptr<Collection>& given, const IndexSpec& spec, const SchemaChange& how) {
  const Shared collection = stored(given);
  const auto schema = base::hold_exclusively(collection->schema_mutex(), how.interrupted);
  auto indexes = std::make_shared<StoredIndexes>(*collection->stored_indexes());
  const auto found =
      std::find_if(indexes->begin(), indexes->end(), [&](const auto& index) { return index->spec().name == spec.name; });
  if (collection->dropped() || found == indexes->end()) {
    throw OperationError(ErrorCode::index_not_found, "cannot find index " + spec.name + " for ns " + collection->ns());
  }
  const std::shared_ptr<StoredIndex> before = *found;
  IndexSpec same = spec;
  same.unique = before->spec().unique;
  if (!equivalent(before->spec(), same) || (same.unique && !spec.unique)) {
    throw OperationError(ErrorCode::invalid_options, "this option of an index can't be changed");
  }
  if (spec.unique && !same.unique) return make_unique(collection, given->ns(), before, spec, how);
  CollectionEntry entry = collection->entry();
  for (IndexEntry& index : entry.indexes) {
    if (index.number == before->number()) index.spec = spec.document;
  }
  bson::Builder command, old;
  command.append("collMod", collection_of(entry.ns));
  {
    bson::Builder index = command.object("index");
    index.append("name", spec.name);
    if (spec.hidden != before->spec().hidden) {
      index.append("hidden", spec.hidden);
      old.append("hidden", before->spec().hidden);
    }
    if (prepares_unique(spec) != before->prepares_unique()) {
      index.append("prepareUnique", !before->prepares_unique());
      old.append("prepareUnique", before->prepares_unique());
    }
    if (spec.expire_after_seconds != before->spec().expire_after_seconds && spec.expire_after_seconds) {
      index.append("expireAfterSeconds", *spec.expire_after_seconds);
      if (before->spec().expire_after_seconds) old.append("expireAfterSeconds", *before->spec().expire_after_seconds);
    }
  }
  const bson::Document document = command.done(), state = state_before(entry, old.done());
  {
    const base::MutexLock ddl(ddl_mutex_);
    in_transaction(engine_, [&](Transaction& transaction) {
      transaction.set_replayed(how.replayed);
      log(transaction, *collection, document, state);
      write_over(transaction, *collection, entry);
    });
  }
  const InterruptibleWaits uninterrupted(nullptr);
  auto after = make_index(entry.id, {before->number(), spec.document, true});
  after->go_on_from(*before);
  *found = std::move(after);
  collection->set_entry(entry);
  collection->set_indexes(std::move(indexes));
}

}  // namespace storage
