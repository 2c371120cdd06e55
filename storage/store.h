// The store: everything that one data directory holds, opened.
//
// It owns the engine and what stands on it: what contents share, the catalog,
// the catalog's past, and dedup. Everything above storage reaches stored things
// through it.
#pragma once

#include <memory>

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
  DedupSettings dedup;
};

// Thread-safe.
class Store {
 public:
  // Opens or creates the directory. Throws OperationError: UnsupportedFormat
  // for a directory of another format or version, DataCorruptionDetected …
  explicit Store(const StoreOptions& options);
  ~Store();  // stops the background work, checkpoints, closes
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  const StoreOptions& options() const;
  Engine& engine();
  const Engine& engine() const;
  operator Engine&() { return engine(); }  // where a transaction begins, or a table is opened
  Catalog& catalog();
  DedupService& dedup();

  // The moments whose past is kept, and how the catalog was then.
  DeclaredSnapshots& declared_snapshots();
  PastCatalog& past_catalog();
  // Who is told of what a declared snapshot shows before it is overwritten. Set before the first snapshot is declared, nullptr
  // after the last writer.
  void set_pre_states(PreStates* keeper);

  Contents& contents();  // storage/ only

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace storage
