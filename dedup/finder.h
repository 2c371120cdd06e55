// The finder knows which contents resemble a new one. It joins sketch, feature index and metadata (dbDedup §3.1, §3.2,
// §5.2).
//
// All features of a content are looked up; how many it leaves in the index depends on what the
// index may cost. With a limit a record (Options:: index_bytes_per_record) older contents keep
// fewer features: new contents mostly resemble recent ones, and a new content that shares
// anything shares its rarest features first, so looking up many features finds contents that kept
// few. While the index is above its limit, hands go over the contents and thin out their
// features, each hand when those before it can't go on: all contents lose some before any loses
// most.
//
// If the lineage is known, its feature finds the next version, and few other features are kept from the start.
//
//   oldest   . . . . | : : : | :. :. :. | :: :: :: | ::: ::: ::: | :::::: newest
//   features    2    |   3   |    4     |    6     |      8      |  all
#pragma once

#include <array>
#include <vector>

#include "dedup/feature_index.h"
#include "dedup/metadata_log.h"
#include "dedup/source_selector.h"

namespace dedup {

// The features of a new content, and what is known about them. Valid until something is added.
struct Similar {
  Features features;
  bool has_lineage = false;
  std::array<FeatureMatches, Features::max> matches;  // for each feature, verified
  std::vector<Candidate> candidates;                  // unordered; `cached` is for the caller to say
};

// The finder isn't thread-safe.
class Finder {
 public:
  Finder(const Options& options, uint64_t seed, MetadataStore& store);

  // Returns the content's features alone; that of its lineage comes first, if it has one. Short contents have none.
  void sketch(uint32_t collection, BytesView content, Lineage lineage, Similar& similar) const;
  // Looks up which other contents have them.
  void find(uint32_t collection, Similar& similar);

  // Makes the new content one that can be found. `used` is the entry of its source, or 0.
  MetadataPointer add(Metadata entry, const Similar& similar, MetadataPointer used);
  // Makes the content one that can't be found any more.
  void drop(MetadataPointer pointer);

  MetadataLog& metadata() { return metadata_; }

  void drop_collection(uint32_t collection);
  void rebuild();  // the index is filled from the metadata
  void flush();    // metadata to its store
  void clear();    // everything, the store too; frees the memory
  void set_options(const Options& options);

  struct Stats {
    uint64_t records = 0;  // contents indexed, before the last start too
    uint64_t false_matches = 0;
    uint64_t grown = 0, forgotten = 0, thinned = 0;
    size_t live_bytes = 0, memory_bytes = 0;
  };
  Stats stats() const;

 private:
  void put(uint32_t feature, MetadataPointer pointer);
  void put_again(FeatureIndex::Victim victim);
  void update_index(const Similar& similar, uint32_t features, MetadataPointer pointer, MetadataPointer used);
  void renew(const FeatureMatches& matches, MetadataPointer pointer, MetadataPointer used);
  void make_room();
  void fill_index(size_t entries);
  void keep_to_limit();
  // A hand goes on from the oldest content and leaves each `features`, until it is `distance` slots from the newest.
  struct Hand {
    uint32_t features, distance;
    MetadataPointer at = 0;
  };
  bool advance(Hand& hand);
  void thin(MetadataPointer pointer, const MetadataLog::Entry& entry, uint32_t features);
  void give_up_oldest();
  size_t entries_max() const { return options_.index_bytes_max / FeatureIndex::entry_bytes; }

  Options options_;
  uint64_t seed_;
  Sketcher sketcher_;
  FeatureIndex index_;
  MetadataLog metadata_;
  // The latest contents keep all as long as that is possible: a version often comes soon after the one before it.
  std::array<Hand, 5> hands_{{{8, 512}, {6, 512}, {4, 256}, {3, 256}, {2, 0}}};
  MetadataPointer superseded_hand_ = 0;  // superseded entries up to here were dropped
  MetadataPointer oldest_ = 0;           // up to here all were given up
  MetadataPointer newest_ = 0;
  size_t put_since_reset_ = 0;
  Stats stats_;
};

}  // namespace dedup
