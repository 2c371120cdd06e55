// The encoder finds for a new content an older one that resembles it, and says
// how to keep both in fewer bytes (dbDedup, chapters 3-5).
//
//   content -> sketch -> feature index -> candidates -> source -> delta, both ways
//
//   forward    source -> new content     travels in the log
//   backward   new content -> source     replaces the source where it is kept
//
// It only decides and writes nothing. One encoder serves one database, which has its own
// memory, counters and governor; sources are looked for within the content's own
// collection.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "dedup/content.h"
#include "dedup/governor.h"
#include "dedup/metadata_log.h"
#include "dedup/options.h"

namespace dedup {

// A write-back is advice: `target` may from now on be kept as `delta` against `base`; one of them is the content just encoded,
// mostly the base. It may be ignored, delayed or lost at the cost of space alone. The target may already have a base (hop bases
// move up, reverts find better ones); then the old delta is only worth replacing.
struct Backward {
  ContentId target;
  ContentId base;
  Placement target_placement;
  Placement base_placement;
  Bytes delta;              // base -> target
  size_t target_bytes = 0;  // length of the target's content
  size_t saved_bytes = 0;   // against what the target costs now
  Choice choice = Choice::given;
};

enum class Outcome : uint8_t {
  encoded,    // a source was found
  unique,     // nothing similar
  filtered,   // too short to have features, or below the size filter
  disabled,   // dedup is off for this database
  not_worth,  // a source was found, but the delta is hardly shorter
};

struct Encoding {
  Outcome outcome = Outcome::unique;
  std::optional<ContentId> source;  // nullopt: keep and send it whole
  Placement placement;              // of the new content
  Bytes forward;                    // source -> new content
  std::vector<Backward> write_backs;
};

// The figures count since construction, except `live_entries` and those marked as bytes in memory.
struct EncoderStats {
  uint64_t contents = 0, content_bytes = 0;
  uint64_t encoded = 0, unique = 0, filtered = 0, disabled = 0, not_worth = 0;
  uint64_t forward_bytes = 0;  // what the log carries instead of content_bytes
  uint64_t saved_bytes = 0;    // by all write-backs, as promised
  uint64_t write_backs = 0, hop_write_backs = 0, improved_write_backs = 0;
  uint64_t candidates = 0, false_matches = 0;
  uint64_t source_hits = 0, source_fetches = 0, sources_gone = 0;
  uint64_t observed = 0;               // of `contents`: indexed only
  uint64_t demoted = 0, promoted = 0;  // by `demote` and `promote`
  uint64_t demoted_at_once = 0;        // by a content that has little in common with the head
  uint64_t live_entries = 0;           // contents that can be found and are the newest of their chains
  // Index. It takes index_live_bytes / index_records bytes a record, as the thesis counts them.
  uint64_t index_records = 0;    // contents that were indexed, those before the last start as far as they are known
  size_t index_live_bytes = 0;   // of entries in use
  size_t index_bytes = 0;        // memory now, entries not in use included
  uint64_t index_grown = 0;      // times it was made anew for more room
  uint64_t index_forgotten = 0;  // entries that found no place, and contents given up at the index's limit
  uint64_t index_thinned = 0;    // times a content lost some of its features
  size_t metadata_bytes = 0, source_cache_bytes = 0;  // memory now
  bool enabled = true;                                // what the governor and the options say now
  GovernorState governor;                             // why
  uint32_t size_threshold = 0;                        // of the size filter, 0: none
};

// The encoder isn't thread-safe.
class Encoder {
 public:
  // `seed` is the database's secret: features can't be guessed without it. The same seed must come with the same
  // store.
  Encoder(const Options& options, uint64_t seed, MetadataStore& store);
  ~Encoder();

  // For a content that is known already, only the placement is returned again. A content whose lineage is known makes a delta
  // only of its own lineage's newest; strangers serve as source of `forward` alone, and stay whole.
  Encoding encode(const ContentId& id, BytesView content, RecordSource& records, Lineage lineage = no_lineage);

  // Does the same for the successor of a known content (an update), without a search. `records` is asked for hop bases that are
  // not in the cache.
  Encoding encode_successor(const ContentId& id, BytesView content, const ContentId& previous, BytesView previous_content,
                            Placement previous_placement, RecordSource& records, Lineage lineage = no_lineage);

  // Runs on a secondary, where the primary has encoded: it keeps index and metadata as `encode` would, without making deltas or
  // fetching anything. `source` is what the log's entry was encoded against.
  Placement observe(const ContentId& id, BytesView content, const std::optional<ContentId>& source, Lineage lineage = no_lineage);

  // Advises on a content that stands whole as the newest of its chain and was not read for long: to keep it
  // as a delta of a similar newest one that ranks above it. Returns nullopt when none is worth it, or too
  // many stand on each other already (Options::demotion_depth_max). The content stays the newest of its
  // chain: its next version makes a better delta of it. `placement` counts where the content's own is not
  // known.
  std::optional<Backward> demote(const ContentId& id, BytesView content, Placement placement, RecordSource& records,
                                 Lineage lineage = no_lineage);
  // Call this when the advice was not followed, or the content was read again and made whole; it may then be demoted once more.
  void promote(const ContentId& id);
  // Returns where a content stands, as far as it is remembered.
  std::optional<Placement> placement(const ContentId& id) const;

  // Takes effect with the next content. Where features change (invalidates_index), everything indexed is forgotten.
  // Throws BadValue for options that don't `validate`.
  void set_options(const Options& options);
  const Options& options() const;

  // Call this when the content is updated or deleted: it is no longer offered as a source.
  void forget(const ContentId& id);
  void forget_collection(uint32_t collection);
  // Call this when contents were updated or deleted without `forget`: all sources are then fetched again, which shows it.
  void distrust_cache();

  // Fills the feature index from the metadata log. It is called at start.
  void rebuild();
  // Hands the store the metadata that is only in memory.
  void flush();

  // While true, the size filter leaves small contents out.
  void set_pressure(bool pressure);

  EncoderStats stats() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace dedup
