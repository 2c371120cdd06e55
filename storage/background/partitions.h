// A partition is one database under one profile: its encoder with the feature index, and the pages of its metadata. The features
// of one profile mean nothing to another profile, so a database has a partition for each profile that its collections use.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "dedup/encoder.h"
#include "dedup/sketch.h"
#include "storage/background/background_figures.h"
#include "storage/background/dedup_state.h"
#include "storage/background/drop_listener.h"
#include "storage/background/live_options.h"
#include "storage/background/log_estimate.h"

namespace storage {

struct Partition {
  std::string database, profile;
  std::unique_ptr<MetadataPages> pages;
  std::unique_ptr<dedup::Encoder> encoder;
  LogEstimate log;
  int64_t rebuild_ms = 0;
  size_t share = 1;    // This is the divisor of the caches: the n-th database gets an n-th of them.
  bool dirty = false;  // The encoder was used since `flush`.
};

// Only the scheduler's thread uses an object, except where a function says otherwise.
class Partitions final : public DropListener {
 public:
  Partitions(Engine& engine, const DedupState& state, const LiveOptions& options);

  // `of` makes the partition when it is first used, and then reads its feature index back; `find` returns nullptr instead.
  Partition& of(const Collection& collection);
  const Partition* find(const Collection& collection) const;

  void take_options();               // The encoders follow the options that are now in force.
  void set_pressure(bool pressure);  // dedup::Encoder describes this.
  void forget(CollectionId collection) override;
  void clear() { partitions_.clear(); }

  // `flush` hands the metadata that the encoders hold to the pages. `write` puts the changed pages into the transaction, and
  // `written` is called once it was committed.
  bool dirty() const;
  void flush();
  void write(Transaction& transaction);
  void written();

  // The figures of each database. With `with_open_batches` the batches of the log's estimate that are still open count too; that
  // costs milliseconds.
  std::map<std::string, DedupFigures::Database> figures(bool with_open_batches) const;

  // These two are thread-safe. The sketcher computes the sketches that the encoder uses for the collection's contents.
  dedup::Sketcher sketcher(const Collection& collection) const;
  const Table& metadata() const { return metadata_; }

 private:
  std::string name_of(const Collection& collection) const;
  dedup::Options options_of(const Partition& partition) const;

  Engine& engine_;
  const DedupState& state_;
  const LiveOptions& options_;
  const Table metadata_;
  std::map<std::string, std::unique_ptr<Partition>, std::less<>> partitions_;
};

}  // namespace storage
