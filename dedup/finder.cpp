#include "dedup/finder.h"

#include <algorithm>

namespace dedup {

namespace {

constexpr size_t index_entries_min = 512;
constexpr uint32_t false_matches_max = 4;   // followed for one feature
constexpr uint64_t pages_read_max = 8;      // of metadata, for one content
constexpr uint32_t superseded_kept = 2048;  // so many slots, from the newest
constexpr int superseded_looked_at = 8;     // an added content, though there is room
// A content whose lineage is known keeps the lineage's feature, by which its next version finds it, and some of its own for
// contents that begin a lineage with the same text.
constexpr uint32_t features_with_lineage = 4;
constexpr int victims_put_again = 16;
constexpr size_t live_bytes_min = 256 << 10;  // no limit counts below: so few bytes aren't worth finding less

// Two features of one content may have one checksum and one slot. A bucket belongs to the first that it matches: the other one
// would put its own contents there, and the first would lose its newest.
bool taken(const Similar& similar, uint32_t feature, uint32_t bucket) {
  return std::any_of(similar.matches.begin(), similar.matches.begin() + feature, [&](const FeatureMatches& earlier) {
    return std::any_of(earlier.begin(), earlier.end(), [&](const FeatureMatch& match) { return match.bucket == bucket; });
  });
}

}  // namespace

Finder::Finder(const Options& options, uint64_t seed, MetadataStore& store)
    : options_(options),
      seed_(seed),
      sketcher_(options, seed),
      index_(seed, options.index_layout),
      metadata_(store, options.metadata_cache_bytes) {}

void Finder::sketch(uint32_t collection, BytesView content, Lineage lineage, Similar& similar) const {
  const Features features = sketcher_.sketch(collection, content);
  similar.has_lineage = lineage != no_lineage && !features.empty();
  if (!similar.has_lineage) {
    similar.features = features;
    return;
  }
  similar.features.add(sketcher_.lineage_feature(collection, lineage));
  for (const uint32_t feature : features) similar.features.add(feature);
}

void Finder::find(uint32_t collection, Similar& similar) {
  const uint32_t own = similar.has_lineage ? similar.features[0] : 0;
  for (const uint32_t feature : similar.features) index_.prefetch(feature);
  for (uint32_t i = 0; i < similar.features.size(); ++i) {
    similar.matches[i] = index_.find(similar.features[i], options_.matches_per_feature + false_matches_max);
    for (const FeatureMatch& match : similar.matches[i]) metadata_.prefetch(match.pointer);
  }
  const uint64_t pages_read_before = metadata_.pages_read();
  for (uint32_t i = 0; i < similar.features.size(); ++i) {
    const uint32_t feature = similar.features[i];
    FeatureMatches& matches = similar.matches[i];
    for (uint32_t j = 0; j < matches.size();) {
      if (j == options_.matches_per_feature || metadata_.pages_read() - pages_read_before >= pages_read_max) {
        matches.truncate(j);
        break;
      }
      const MetadataPointer pointer = matches[j].pointer;
      const auto entry = metadata_.find(pointer);
      if (!entry || entry->id.collection != collection || !entry->has(feature)) {
        if (entry)
          ++stats_.false_matches;
        else
          index_.clear(matches[j].bucket);
        matches.remove(j);
        continue;
      }
      const auto known = std::find_if(similar.candidates.begin(), similar.candidates.end(),
                                      [&](const Candidate& candidate) { return candidate.pointer == pointer; });
      if (known != similar.candidates.end() && taken(similar, i, matches[j].bucket)) {
        matches.remove(j);
        continue;
      }
      ++j;
      if (known != similar.candidates.end()) continue;
      // Not all features that they share led here: of a feature that many contents have, the index keeps the latest contents.
      const auto shared = std::count_if(entry->features.begin(), entry->features.end(),
                                        [&](uint32_t one) { return similar.features.contains(one); });
      // The features that were thinned out would be shared in the same proportion.
      const auto all = std::max<size_t>(similar.features.size(), entry->features.size());
      const auto in_common = static_cast<uint32_t>(static_cast<size_t>(shared) * all / entry->features.size());
      similar.candidates.push_back({pointer, entry->id, entry->placement, in_common, false, entry->superseded,
                                    entry->lineage() == own, own && entry->lineage() == own, entry->delta_bytes,
                                    entry->demoted_below});
    }
  }
}

MetadataPointer Finder::add(Metadata entry, const Similar& similar, MetadataPointer used) {
  if (entry.has_lineage && options_.index_bytes_per_record) entry.features.truncate(features_with_lineage);
  const MetadataPointer pointer = metadata_.append(entry);
  ++stats_.records;
  newest_ = pointer;
  update_index(similar, entry.features.size(), pointer, used);
  make_room();
  keep_to_limit();
  return pointer;
}

// At most `matches_per_feature` entries belong to a feature. A superseded content makes room first, then the one that was put
// first.
void Finder::update_index(const Similar& similar, uint32_t features, MetadataPointer pointer, MetadataPointer used) {
  std::array<uint32_t, Features::max> homeless;
  uint32_t homeless_count = 0;
  for (uint32_t i = 0; i < features; ++i) {
    const FeatureMatches& matches = similar.matches[i];
    if (options_.index_layout == IndexLayout::published) {
      renew(matches, pointer, used);
      if (matches.size() < options_.matches_per_feature) homeless[homeless_count++] = similar.features[i];
      continue;
    }
    const FeatureMatch* victim = nullptr;
    bool victim_superseded = false;
    for (const FeatureMatch& match : matches) {
      const auto entry = metadata_.find(match.pointer);
      const bool superseded = !entry || entry->superseded;
      if (!victim || (superseded && !victim_superseded) || (superseded == victim_superseded && match.pointer < victim->pointer)) {
        victim = &match;
        victim_superseded = superseded;
      }
    }
    if (!victim || (!victim_superseded && matches.size() < options_.matches_per_feature)) {
      homeless[homeless_count++] = similar.features[i];
    } else {
      index_.overwrite(victim->bucket, pointer);
    }
  }
  // Entries are put only now, because putting moves other entries.
  for (uint32_t i = 0; i < homeless_count; ++i) put(homeless[i], pointer);
}

// The matches of a feature stand in the order of their last use, as published; when there are too many, the first one goes.
// Exchanging the pointers has the same effect as taking the entries out and putting them in again.
void Finder::renew(const FeatureMatches& matches, MetadataPointer pointer, MetadataPointer used) {
  std::array<MetadataPointer, FeatureMatches::max + 1> order;
  uint32_t count = 0;
  for (const FeatureMatch& match : matches) order[count++] = match.pointer;
  std::stable_partition(order.begin(), order.begin() + count, [&](MetadataPointer one) { return one != used; });
  if (count < options_.matches_per_feature) {
    for (uint32_t i = 0; i < count; ++i) index_.overwrite(matches[i].bucket, order[i]);
    return;
  }
  order[count] = pointer;
  for (uint32_t i = 0; i < count; ++i) index_.overwrite(matches[i].bucket, order[i + 1]);
}

void Finder::drop(MetadataPointer pointer) {
  if (const auto entry = metadata_.find(pointer))
    for (const uint32_t feature : entry->features) index_.erase(feature, pointer);
  metadata_.drop(pointer);
}

void Finder::drop_collection(uint32_t collection) {
  const size_t before = metadata_.live();
  metadata_.drop_collection(collection);
  if (metadata_.live() * 2 < before) rebuild();
}

void Finder::put(uint32_t feature, MetadataPointer pointer) {
  ++put_since_reset_;
  if (const auto victim = index_.put(feature, pointer)) put_again(*victim);
}

// The index doesn't hold features; the victim's are in its metadata (§5.2: "re-insert the victim into the hash table as
// if it was new").
void Finder::put_again(FeatureIndex::Victim victim) {
  for (int i = 0; options_.index_layout == IndexLayout::published && i < victims_put_again; ++i) {
    const auto entry = metadata_.find(victim.pointer);
    if (!entry) return;  // nothing is lost with it
    const auto feature = std::find_if(entry->features.begin(), entry->features.end(),
                                      [&](uint32_t one) { return index_.checksum(one) == victim.checksum; });
    if (feature == entry->features.end()) return;
    const auto next = index_.put(*feature, victim.pointer);
    if (!next) return;
    victim = *next;
  }
  ++stats_.forgotten;
}

// The table can't be re-hashed, because it doesn't hold its features. It is filled again from the metadata, which also leaves
// behind dead entries.
void Finder::make_room() {
  const bool published = options_.index_layout == IndexLayout::published;
  if (index_.used() * 100 < index_.capacity() * (published ? 80 : 94)) return;
  const size_t wanted = published ? metadata_.live() * options_.features_max * 3 / 2 : index_.used() * 4 / 3;
  if (std::min(std::max(wanted, index_entries_min), entries_max()) <= index_.capacity()) {
    if (!published) return give_up_oldest();
    if (put_since_reset_ * 4 < index_.capacity()) return;  // full at the limit: it forgets rather than being rebuilt for ever
  }
  ++stats_.grown;
  fill_index(wanted);
}

void Finder::fill_index(size_t entries) {
  index_.reset(std::min(std::max(entries, index_entries_min), entries_max()), options_.index_layout);
  put_since_reset_ = 0;
  // The published layout finds entries in the order of putting, and should find the least recently used first. With the other
  // layout the newest get their places first.
  const auto order =
      options_.index_layout == IndexLayout::published ? MetadataLog::Order::oldest_first : MetadataLog::Order::newest_first;
  metadata_.for_each_live(order, [&](MetadataPointer pointer, const MetadataLog::Entry& entry) {
    std::array<uint32_t, Features::max> features;
    const auto end = std::copy(entry.features.begin(), entry.features.end(), features.begin());
    for (auto feature = features.begin(); feature != end; ++feature) {
      const FeatureMatches matches = index_.find(*feature, options_.matches_per_feature);
      if (matches.size() < options_.matches_per_feature) {
        if (index_.used() * 100 < index_.capacity() * 94) put(*feature, pointer);
      } else if (order == MetadataLog::Order::oldest_first) {
        renew(matches, pointer, 0);
      }
    }
  });
}

// Superseded contents go first, even when there is room, except for the latest of them: a text that was spoilt may be restored.
void Finder::keep_to_limit() {
  if (options_.index_bytes_per_record == 0 || options_.index_layout == IndexLayout::published) return;
  const size_t limit =
      std::max<size_t>(std::min(live_bytes_min, options_.index_bytes_max / 4), stats_.records * options_.index_bytes_per_record);
  const auto above = [&] { return index_.used() * FeatureIndex::entry_bytes > limit; };
  for (int looked_at = 0; looked_at < superseded_looked_at || above(); ++looked_at) {
    const auto next = metadata_.next(superseded_hand_);
    if (!next || *next + superseded_kept > newest_) break;
    superseded_hand_ = *next;
    if (const auto entry = metadata_.find(superseded_hand_); entry && entry->superseded) drop(superseded_hand_);
  }
  while (above()) {
    if (std::any_of(hands_.begin(), hands_.end(), [&](Hand& hand) { return advance(hand); })) continue;
    // Either only entries are left that lead to nothing any more, or the limit is below two features each.
    if (put_since_reset_ * 4 > index_.used()) fill_index(index_.capacity());
    return;
  }
}

// Returns false when it has caught up with the newest contents, which it leaves alone.
bool Finder::advance(Hand& hand) {
  const auto next = metadata_.next(hand.at);
  if (!next || *next + hand.distance > newest_) return false;
  hand.at = *next;
  const auto entry = metadata_.find(hand.at);
  if (entry && entry->superseded)
    drop(hand.at);
  else if (entry && entry->features.size() > hand.features)
    thin(hand.at, *entry, hand.features);
  return true;
}

void Finder::thin(MetadataPointer pointer, const MetadataLog::Entry& entry, uint32_t features) {
  for (const uint32_t feature : entry.features.subspan(features)) index_.erase(feature, pointer);
  metadata_.thin(pointer, features);
  ++stats_.thinned;
}

// At the index's limit the contents that were added first can't be found any more.
void Finder::give_up_oldest() {
  while (index_.used() * 100 >= index_.capacity() * 90) {
    const auto next = metadata_.next(oldest_);
    if (!next) return;
    oldest_ = *next;
    const auto entry = metadata_.find(oldest_);
    if (!entry) continue;
    stats_.forgotten += !entry->superseded;
    drop(oldest_);
  }
}

void Finder::rebuild() {
  stats_.records = 0;
  size_t entries = 0;
  metadata_.for_each_live(MetadataLog::Order::oldest_first, [&](MetadataPointer, const MetadataLog::Entry& entry) {
    stats_.records += entry.placement.ordinal + 1;
    entries += entry.features.size();
  });
  fill_index(options_.index_layout == IndexLayout::published ? entries * 3 / 2 : entries * 5 / 4);
}

void Finder::flush() {
  for (const auto& moved : metadata_.flush()) {
    for (const uint32_t feature : moved.features) {
      const FeatureMatches matches = index_.find(feature, FeatureMatches::max);
      for (const FeatureMatch& match : matches)
        if (match.pointer == moved.from) index_.overwrite(match.bucket, moved.to);
    }
  }
}

void Finder::clear() {
  index_.reset(0);
  metadata_.clear();
  for (Hand& hand : hands_) hand.at = 0;
  superseded_hand_ = oldest_ = 0;
  stats_.records = 0;
}

void Finder::set_options(const Options& options) {
  const Options before = options_;
  options_ = options;
  metadata_.set_cache_bytes_max(options.metadata_cache_bytes);
  sketcher_ = Sketcher(options, seed_);
  if (invalidates_index(before, options)) return clear();
  for (Hand& hand : hands_) hand.at = 0;
  superseded_hand_ = 0;
  if (before.index_layout != options.index_layout || index_.capacity() > entries_max()) {
    rebuild();
  }
}

Finder::Stats Finder::stats() const {
  Stats stats = stats_;
  stats.live_bytes = index_.used() * FeatureIndex::entry_bytes;
  stats.memory_bytes = index_.memory_bytes();
  return stats;
}

}  // namespace dedup
