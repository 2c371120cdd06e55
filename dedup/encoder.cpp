#include "dedup/encoder.h"

#include <algorithm>

#include "dedup/feature_index.h"
#include "dedup/governor.h"
#include "dedup/hop_policy.h"
#include "dedup/size_filter.h"
#include "dedup/sketch.h"
#include "dedup/source_cache.h"
#include "dedup/source_selector.h"

namespace dedup {

namespace {

constexpr size_t index_entries_min = 4096;
constexpr size_t false_matches_max = 4;      // followed for one feature
constexpr size_t merged_bytes_min = 64;      // a better base must save this much to be worth a write

}  // namespace

struct Encoder::State {
  State(const Options& o, uint64_t seed, MetadataStore& store)
      : options(o), sketcher(o, seed), index(seed), metadata(store, o.metadata_cache_bytes), cache(o.source_cache_bytes),
        hops(o.hop_distance), governor(o), size_filter(o) {
    delta.method = o.delta_method;
    delta.anchor_interval = o.anchor_interval;
  }

  const Options options;
  DeltaOptions delta;
  Sketcher sketcher;
  FeatureIndex index;
  MetadataLog metadata;
  SourceCache cache;
  HopPolicy hops;
  Governor governor;
  SizeFilter size_filter;
  EncoderStats stats;
  size_t put_since_reset = 0;

  // What the index knows about a new content's features.
  struct Similar {
    Features features;
    bool has_lineage = false;
    std::vector<std::vector<FeatureMatch>> matches;  // one list a feature, verified
    std::vector<Candidate> candidates;
  };

  // One content being encoded.
  struct Work {
    const ContentId& id;
    BytesView content;
    RecordSource& records;
    Similar similar;
    Encoding encoding;
    MetadataPointer predecessor = 0;    // whose chain the content goes on with
    std::vector<ContentId> hop_bases;
    struct Superseded {
      MetadataPointer pointer;
      uint32_t delta_bytes;
    };
    std::vector<Superseded> superseded;
    bool late = false;                  // a content that ranks above it is there already, and became its base
  };

  Similar find_similar(uint32_t collection, BytesView content, Lineage lineage);
  Encoding encode(const ContentId& id, BytesView content, RecordSource& records, Lineage lineage);
  Encoding encode_successor(const ContentId& id, BytesView content, const ContentId& previous, BytesView previous_content,
                            Placement previous_placement, RecordSource& records, Lineage lineage);

  bool try_source(Work& work, const Candidate& candidate);
  bool worth(size_t delta_bytes, size_t content_bytes) const { return delta_bytes * 100 <= content_bytes * options.worth_percent; }
  std::optional<Bytes> fetch(const ContentId& id, RecordSource& records);
  void follow(Work& work, const ContentId& source, Placement placement, MetadataPointer pointer, size_t source_bytes, Bytes backward);
  void come_late(Work& work, const Candidate& candidate);
  void re_encode_hop_bases(Work& work);
  void remember(Work& work, const ContentId* cached_source);
  void add_to_index(const Similar& similar, MetadataPointer pointer);
  void grow_index();
  void fill_index(size_t entries);
  Encoding finish(Work& work);
  void turn_off();
};

Encoder::Encoder(const Options& options, uint64_t seed, MetadataStore& store)
    : state_(std::make_unique<State>(options, seed, store)) {}
Encoder::~Encoder() = default;

Encoder::State::Similar Encoder::State::find_similar(uint32_t collection, BytesView content, Lineage lineage) {
  Similar similar;
  const Features sketch = sketcher.sketch(collection, content);
  similar.has_lineage = lineage != no_lineage && !sketch.empty();
  const uint32_t own = similar.has_lineage ? sketcher.lineage_feature(collection, lineage) : 0;
  if (similar.has_lineage) similar.features.add(own);
  for (const uint32_t feature : sketch) similar.features.add(feature);
  for (const uint32_t feature : similar.features) index.prefetch(feature);
  for (const uint32_t feature : similar.features) {
    auto& matches = similar.matches.emplace_back();
    index.find(feature, options.matches_per_feature + false_matches_max, matches);
    std::erase_if(matches, [&](const FeatureMatch& match) {
      const Metadata* entry = metadata.find(match.pointer);
      if (!entry) return true;
      if (entry->id.collection != collection || !entry->features.contains(feature)) {
        ++stats.false_matches;
        return true;
      }
      auto known = std::find_if(similar.candidates.begin(), similar.candidates.end(),
                                [&](const Candidate& candidate) { return candidate.pointer == match.pointer; });
      if (known != similar.candidates.end()) {
        ++known->shared;
      } else {
        similar.candidates.push_back({match.pointer, entry->id, entry->placement, 1, cache.contains(entry->id), entry->superseded,
                                      entry->lineage() == own, own && entry->lineage() == own});
      }
      return false;
    });
  }
  stats.candidates += similar.candidates.size();
  rank(similar.candidates, options);
  return similar;
}

std::optional<Bytes> Encoder::State::fetch(const ContentId& id, RecordSource& records) {
  if (const Bytes* cached = cache.find(id)) {
    ++stats.source_hits;
    return *cached;
  }
  auto bytes = records.fetch(id);
  ++(bytes ? stats.source_fetches : stats.sources_gone);
  return bytes;
}

Encoding Encoder::State::encode(const ContentId& id, BytesView content, RecordSource& records, Lineage lineage) {
  Work work{id, content, records, {}, {}, 0, {}, {}};
  work.encoding.placement = {id.record, 0};
  ++stats.contents;
  stats.content_bytes += content.size();
  if (!options.enabled || !governor.wants_next()) {
    work.encoding.outcome = Outcome::disabled;
    return finish(work);
  }
  work.encoding.outcome = Outcome::filtered;
  if (!size_filter.admits(static_cast<uint32_t>(content.size()))) return finish(work);
  work.similar = find_similar(id.collection, content, lineage);
  if (work.similar.features.empty()) return finish(work);

  work.encoding.outcome = Outcome::unique;
  for (const Candidate& candidate : work.similar.candidates) {
    if (candidate.id != id) continue;
    work.encoding.placement = candidate.placement;  // seen before: its chain goes on without another entry
    return finish(work);
  }
  uint32_t tried = 0;
  std::optional<ContentId> source;
  for (const Candidate& candidate : work.similar.candidates) {
    if (tried == options.sources_tried || work.late) break;
    if (!try_source(work, candidate)) continue;
    ++tried;
    // A superseded source serves the log; the newest of a chain is still wanted, to be kept as a delta.
    if (work.predecessor) {
      source = candidate.id;
      break;
    }
  }
  if (tried > 0) work.encoding.outcome = work.encoding.source || !work.encoding.write_backs.empty() ? Outcome::encoded : Outcome::not_worth;
  if (work.late) return finish(work);
  re_encode_hop_bases(work);
  remember(work, source ? &*source : nullptr);
  return finish(work);
}

// False: the source can't be had.
bool Encoder::State::try_source(Work& work, const Candidate& candidate) {
  Bytes fetched;
  const Bytes* source = cache.find(candidate.id);
  if (source) {
    ++stats.source_hits;
  } else if (auto bytes = work.records.fetch(candidate.id)) {
    ++stats.source_fetches;
    fetched = std::move(*bytes);
    source = &fetched;
  } else {
    ++stats.sources_gone;
    metadata.drop(candidate.pointer);
    return false;
  }

  auto both = encode_two_way(*source, work.content, delta);
  if (!both) return true;
  Encoding& encoding = work.encoding;
  if (both->forward.size() < work.content.size() && (!encoding.source || both->forward.size() < encoding.forward.size())) {
    encoding.source = candidate.id;
    encoding.forward = std::move(both->forward);
  }
  if (!candidate.kin) return true;
  if (!may_be_base(work.id, candidate.id)) {
    if (!candidate.superseded && !work.predecessor && encoding.source == candidate.id) come_late(work, candidate);
    return true;
  }
  if (!worth(both->backward.size(), source->size())) return true;

  if (!candidate.superseded) {
    follow(work, candidate.id, candidate.placement, candidate.pointer, source->size(), std::move(both->backward));
    return true;
  }
  // It has a base already. A new one is worth a write where the old delta was a poor one, as when
  // a text was spoilt and then restored.
  const Metadata* entry = metadata.find(candidate.pointer);
  const size_t now = entry ? entry->delta_bytes : 0;
  const bool better = now > 2 * both->backward.size() + merged_bytes_min;
  if (!better && options.overlap == OverlapPolicy::keep) return true;
  ++stats.improved_write_backs;
  work.superseded.push_back({candidate.pointer, static_cast<uint32_t>(both->backward.size())});
  const size_t saved = now > both->backward.size() ? now - both->backward.size() : 0;
  encoding.write_backs.push_back({candidate.id, work.id, candidate.placement, encoding.placement, std::move(both->backward),
                                  source->size(), saved});
  return true;
}

// Contents written at the same time may arrive out of order. The newest of the
// chain stays what it is, and the late one is kept as a delta against it.
void Encoder::State::come_late(Work& work, const Candidate& candidate) {
  Encoding& encoding = work.encoding;
  if (!may_be_base(candidate.id, work.id) || !worth(encoding.forward.size(), work.content.size())) return;
  work.late = true;
  encoding.placement = {candidate.placement.chain, candidate.placement.ordinal - (candidate.placement.ordinal > 0)};
  encoding.write_backs.push_back({work.id, candidate.id, encoding.placement, candidate.placement, encoding.forward,
                                  work.content.size(), work.content.size() - encoding.forward.size()});
}

// The content goes on with the chain of `source`, which becomes a delta against it.
void Encoder::State::follow(Work& work, const ContentId& source, Placement placement, MetadataPointer pointer,
                            size_t source_bytes, Bytes backward) {
  work.predecessor = pointer;
  work.encoding.placement = {placement.chain, placement.ordinal + 1};
  if (const Metadata* entry = pointer ? metadata.find(pointer) : nullptr) work.hop_bases = entry->hop_bases;
  if (placement.ordinal == 0) work.hop_bases = {source};
  if (pointer) work.superseded.push_back({pointer, static_cast<uint32_t>(backward.size())});
  for (auto& write_back : work.encoding.write_backs) write_back.base_placement = work.encoding.placement;
  const size_t saved = source_bytes - backward.size();
  work.encoding.write_backs.push_back({source, work.id, placement, work.encoding.placement, std::move(backward), source_bytes, saved});
}

void Encoder::State::re_encode_hop_bases(Work& work) {
  const uint32_t ordinal = work.encoding.placement.ordinal;
  if (!work.predecessor || options.hop_distance < 2) return;
  const auto bases = hops.re_encoded(ordinal);
  const auto known = work.hop_bases;  // by level, before this content takes its place
  work.hop_bases.resize(std::min<size_t>(work.hop_bases.size(), hops.levels_known(ordinal)));
  while (!known.empty() && work.hop_bases.size() < hops.levels_known(ordinal)) work.hop_bases.push_back(known.back());
  const auto old_bases = work.hop_bases;
  for (size_t level = 0; level < bases.size() && level < old_bases.size(); ++level) {
    const ContentId target = old_bases[level];
    work.hop_bases[level] = work.id;
    if (!may_be_base(work.id, target)) continue;
    if (level > 0 && target == old_bases[level - 1]) continue;
    const auto content = fetch(target, work.records);
    cache.forget(target);
    if (!content) continue;
    auto delta_of_base = dedup::encode(work.content, *content, delta);
    if (!delta_of_base || !worth(delta_of_base->size(), content->size())) continue;
    ++stats.hop_write_backs;
    const size_t saved = content->size() - delta_of_base->size();
    const Placement placement{work.encoding.placement.chain, bases[level]};
    work.encoding.write_backs.push_back({target, work.id, placement, work.encoding.placement, std::move(*delta_of_base),
                                         content->size(), saved});
  }
}

void Encoder::State::remember(Work& work, const ContentId* cached_source) {
  const MetadataPointer pointer = metadata.append({work.id, work.encoding.placement, work.similar.features, work.similar.has_lineage, work.hop_bases});
  for (const auto& [old, delta_bytes] : work.superseded) metadata.supersede(old, pointer, delta_bytes);
  add_to_index(work.similar, pointer);
  if (cached_source) {
    const bool hop_base = work.encoding.placement.ordinal % std::max(options.hop_distance, 1u) == 1 && options.hop_distance > 1;
    cache.replace(*cached_source, hop_base, work.id, work.content);
  } else {
    cache.add(work.id, work.content);
  }
}

// At most `matches_per_feature` entries lead away from a feature: a superseded
// content makes room first, then the oldest.
void Encoder::State::add_to_index(const Similar& similar, MetadataPointer pointer) {
  for (uint32_t i = 0; i < similar.features.size(); ++i) {
    const auto& matches = similar.matches[i];
    const FeatureMatch* victim = nullptr;
    bool victim_superseded = false;
    for (const FeatureMatch& match : matches) {
      const Metadata* entry = metadata.find(match.pointer);
      const bool superseded = !entry || entry->superseded;
      if (!victim || (superseded && !victim_superseded) ||
          (superseded == victim_superseded && match.pointer < victim->pointer)) {
        victim = &match;
        victim_superseded = superseded;
      }
    }
    if (victim && (victim_superseded || matches.size() >= options.matches_per_feature)) {
      index.overwrite(victim->bucket, pointer);
    } else {
      index.put(similar.features[i], pointer);
      ++put_since_reset;
    }
  }
  grow_index();
}

// The table can't be re-hashed, for it doesn't hold its features: it is filled
// again from the metadata, which also leaves behind what is dead.
void Encoder::State::grow_index() {
  if (index.used() * 10 < index.capacity() * 8) return;
  if (put_since_reset * 4 < index.capacity()) return;  // full at the limit: forget, don't rebuild for ever
  fill_index(std::max(index_entries_min, metadata.live() * options.features_max * 3 / 2));
}

void Encoder::State::fill_index(size_t entries) {
  index.reset(std::min(std::max(entries, index_entries_min), options.index_bytes_max / FeatureIndex::entry_bytes));
  std::vector<FeatureMatch> matches;
  metadata.for_each_live([&](MetadataPointer pointer, const Metadata& entry) {
    for (const uint32_t feature : entry.features) {
      matches.clear();
      index.find(feature, options.matches_per_feature, matches);
      const auto oldest = std::min_element(matches.begin(), matches.end(), [](const auto& a, const auto& b) { return a.pointer < b.pointer; });
      if (matches.size() < options.matches_per_feature) {
        index.put(feature, pointer);
      } else {
        index.overwrite(oldest->bucket, pointer);
      }
    }
  });
  put_since_reset = 0;
}

Encoding Encoder::State::finish(Work& work) {
  const Encoding& encoding = work.encoding;
  uint64_t saved = 0;
  for (const Backward& backward : encoding.write_backs) {
    // Re-encoding a hop base shortens reads; it doesn't save a second time.
    if (work.late || backward.target_placement.ordinal + 1 == backward.base_placement.ordinal) saved += backward.saved_bytes;
  }
  stats.saved_bytes += saved;
  stats.write_backs += encoding.write_backs.size();
  stats.forward_bytes += encoding.source ? encoding.forward.size() : work.content.size();
  switch (encoding.outcome) {
    case Outcome::encoded: ++stats.encoded; break;
    case Outcome::unique: ++stats.unique; break;
    case Outcome::filtered: ++stats.filtered; break;
    case Outcome::disabled: ++stats.disabled; break;
    case Outcome::not_worth: ++stats.not_worth; break;
  }
  if (governor.saw(work.content.size(), saved) == Governor::Verdict::turn_off) turn_off();
  return std::move(work.encoding);
}

void Encoder::State::turn_off() {
  index.reset(0);
  metadata.clear();
  cache.clear();
}

Encoding Encoder::State::encode_successor(const ContentId& id, BytesView content, const ContentId& previous,
                                          BytesView previous_content, Placement previous_placement, RecordSource& records,
                                          Lineage lineage) {
  Work work{id, content, records, {}, {}, 0, {}, {}};
  work.encoding.placement = {id.record, 0};
  ++stats.contents;
  stats.content_bytes += content.size();
  if (!options.enabled || !governor.wants_next()) {
    work.encoding.outcome = Outcome::disabled;
    return finish(work);
  }
  size_filter.admits(static_cast<uint32_t>(content.size()));
  work.similar = find_similar(id.collection, content, lineage);
  work.encoding.outcome = Outcome::not_worth;
  if (auto both = encode_two_way(previous_content, content, delta)) {
    if (both->forward.size() < content.size()) {
      work.encoding.source = previous;
      work.encoding.forward = std::move(both->forward);
      work.encoding.outcome = Outcome::encoded;
    }
    if (may_be_base(id, previous) && worth(both->backward.size(), previous_content.size())) {
      const auto pointer = metadata.find_cached(previous);
      follow(work, previous, previous_placement, pointer.value_or(0), previous_content.size(), std::move(both->backward));
      work.encoding.outcome = Outcome::encoded;
    }
  }
  re_encode_hop_bases(work);
  if (!work.similar.features.empty()) remember(work, &previous);
  return finish(work);
}

Encoding Encoder::encode(const ContentId& id, BytesView content, RecordSource& records, Lineage lineage) {
  return state_->encode(id, content, records, lineage);
}

Encoding Encoder::encode_successor(const ContentId& id, BytesView content, const ContentId& previous,
                                   BytesView previous_content, Placement previous_placement, RecordSource& records,
                                   Lineage lineage) {
  return state_->encode_successor(id, content, previous, previous_content, previous_placement, records, lineage);
}

void Encoder::forget(const ContentId& id) {
  state_->cache.forget(id);
  if (const auto pointer = state_->metadata.find_cached(id)) state_->metadata.drop(*pointer);
}

void Encoder::forget_collection(uint32_t collection) {
  state_->cache.clear();
  state_->metadata.drop_collection(collection);
}

void Encoder::rebuild() { state_->fill_index(state_->metadata.live() * state_->options.features_max * 3 / 2); }

void Encoder::flush() {
  State& s = *state_;
  std::vector<FeatureMatch> matches;
  for (const auto& moved : s.metadata.flush()) {
    for (const uint32_t feature : moved.features) {
      matches.clear();
      s.index.find(feature, s.options.matches_per_feature + false_matches_max, matches);
      for (const auto& match : matches)
        if (match.pointer == moved.from) s.index.overwrite(match.bucket, moved.to);
    }
  }
}

void Encoder::set_pressure(bool pressure) { state_->size_filter.set_pressure(pressure); }

EncoderStats Encoder::stats() const {
  EncoderStats stats = state_->stats;
  stats.live_entries = state_->metadata.live();
  stats.index_bytes = state_->index.memory_bytes();
  stats.metadata_bytes = state_->metadata.memory_bytes();
  stats.source_cache_bytes = state_->cache.bytes();
  stats.enabled = state_->options.enabled && state_->governor.on();
  stats.size_threshold = state_->size_filter.threshold();
  return stats;
}

}  // namespace dedup
