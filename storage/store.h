// The store opens one data directory and gives access to everything in it.
//
// It owns the engine and the parts that are built on the engine: the data that contents share, the catalog, the catalog's past,
// and dedup. Code above storage reaches stored data through the store.
#pragma once

#include <memory>
#include <optional>
#include <string_view>

#include "bson/document.h"
#include "storage/background/dedup_settings.h"
#include "storage/collections/catalog.h"
#include "storage/engine/engine.h"

namespace storage {

class DeclaredSnapshots;
class DedupService;
class PastCatalog;
class PreStates;
struct Contents;

struct StoreOptions : EngineOptions {
  using EngineOptions::EngineOptions;

  DedupSettings dedup;
};

// This class is thread-safe.
class Store {
 public:
  // The constructor opens the directory, or creates it. It throws OperationError: UnsupportedFormat when the directory has
  // another format or version, DataCorruptionDetected when the data is damaged, and other codes.
  explicit Store(const StoreOptions& options);
  ~Store();  // The destructor stops the background work, takes a checkpoint and closes the engine.
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  const StoreOptions& options() const;
  Engine& engine();
  const Engine& engine() const;
  operator Engine&() { return engine(); }  // This conversion lets callers begin a transaction or open a table with a store.
  Catalog& catalog();
  DedupService& dedup();

  // The declared snapshots are the moments whose past is kept; the past catalog shows how the catalog was at such a moment.
  DeclaredSnapshots& declared_snapshots();
  PastCatalog& past_catalog();
  // The keeper gets the contents that a declared snapshot shows, before they are overwritten. The caller sets it before the first
  // snapshot is declared, and sets nullptr after the last writer has ended.
  void set_pre_states(PreStates* keeper);

  Contents& contents();  // Only code in storage/ may call this.

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

// Returns the document with this _id, read in a transaction of its own; nullopt: there is none, or no such collection.
std::optional<bson::Document> find_document(Store& store, std::string_view ns, const bson::ValueView& id);

}  // namespace storage
