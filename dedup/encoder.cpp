#include "dedup/encoder.h"

#include <algorithm>

#include "base/error.h"
#include "dedup/finder.h"
#include "dedup/hop_policy.h"
#include "dedup/size_filter.h"
#include "dedup/source_cache.h"

namespace dedup {

namespace {

constexpr size_t merged_bytes_min = 64;  // a better base must save this much to be worth a write
constexpr uint32_t good_percent = 25;    // of its content: no better delta is looked for
constexpr uint32_t fetches_max = 8;      // of candidates that turn out to be gone, and others, for one content

}  // namespace

struct Encoder::State {
  State(const Options& o, uint64_t seed, MetadataStore& store)
      : options(o), finder(o, seed, store), cache(o.source_cache_bytes), hops(hop_policy(o)), governor(o), size_filter(o) {
    set_delta_options();
  }

  static HopPolicy hop_policy(const Options& o) {
    return HopPolicy(o.encoding == EncodingScheme::hop ? o.hop_distance : 0, o.hop_levels_max);
  }
  void set_delta_options() {
    delta.method = options.delta_method;
    delta.anchor_interval = options.anchor_interval;
  }

  Options options;
  DeltaOptions delta;
  Finder finder;
  SourceCache cache;
  HopPolicy hops;
  Governor governor;
  SizeFilter size_filter;
  EncoderStats stats;

  // One content being encoded.
  struct Work {
    Work(const ContentId& i, BytesView c, RecordSource& r) : id(i), content(c), records(r) {
      encoding.placement = {id.record, 0};
    }

    const ContentId& id;
    const BytesView content;
    RecordSource& records;
    Similar similar;
    Encoding encoding;
    MetadataPointer predecessor = 0;    // whose chain the content goes on with
    MetadataPointer used = 0;           // whose content `forward` is based on
    std::optional<ContentId> replaced;  // the content takes the source's place in the cache
    uint8_t demoted_below = 0;
    std::vector<ContentId> hop_bases;
    struct Superseded {
      MetadataPointer pointer;
      uint32_t delta_bytes;
    };
    std::vector<Superseded> superseded;
    struct Head {
      Candidate candidate;
      Choice choice;
      size_t source_bytes;
      Bytes backward;
    };
    std::optional<Head> best;  // of the heads that were tried, the one with the shortest delta
    uint64_t saved = 0;        // by the advice so far
    bool late = false;         // a content that ranks above it is there already, and became its base
  };

  bool admit(Work& work, Lineage lineage, bool filter);
  void find_similar(Work& work);
  Encoding encode(Work& work, Lineage lineage);
  Encoding encode_successor(Work& work, const ContentId& previous, BytesView previous_content, Placement previous_placement,
                            Lineage lineage);
  Placement observe(Work& work, const std::optional<ContentId>& source, Lineage lineage);
  std::optional<Backward> demote(const ContentId& id, BytesView content, Placement placement, RecordSource& records,
                                 Lineage lineage);

  bool try_source(Work& work, size_t place);
  // Returns nullopt also where neither delta is of use: the forward one isn't below `forward_bytes_max`, and the backward one not
  // worth keeping.
  std::optional<TwoWay> both_ways(BytesView source, BytesView target, size_t forward_bytes_max = SIZE_MAX) const {
    DeltaOptions bounded = delta;
    bounded.backward_bytes_max = source.size() * options.worth_percent / 100;
    // A backward delta that is worth it inserts no more than that; the rest of the source stands in the target.
    const size_t shared_bytes_min = source.size() - std::min(source.size(), bounded.backward_bytes_max);
    const size_t for_backward = target.size() - std::min(target.size(), shared_bytes_min);
    bounded.literal_bytes_max = std::max(forward_bytes_max, for_backward);
    return encode_two_way(source, target, bounded);
  }
  bool worth(size_t delta_bytes, size_t content_bytes) const {
    return delta_bytes > 0 && at_most(options.worth_percent, delta_bytes, content_bytes);
  }
  static bool at_most(uint32_t percent, size_t delta_bytes, size_t content_bytes) {
    return delta_bytes * 100 <= content_bytes * percent;
  }
  const Bytes* fetch(const ContentId& id, RecordSource& records, Bytes& room);
  void follow(Work& work, const ContentId& source, Placement placement, MetadataPointer pointer);
  void write_back_predecessor(Work& work, const ContentId& source, Placement placement, MetadataPointer pointer,
                              size_t source_bytes, Bytes backward, Choice choice);
  void come_late(Work& work, const Candidate& candidate, Choice choice);
  void demote_onto(Work& work, Work::Head& head);
  void move_hop_bases(Work& work, bool with_deltas);
  void re_encode_hop_base(Work& work, const ContentId& target, uint32_t ordinal);
  void remember(Work& work, bool cached);
  Encoding finish(Work& work);
};

Encoder::Encoder(const Options& options, uint64_t seed, MetadataStore& store)
    : state_(std::make_unique<State>(options, seed, store)) {}
Encoder::~Encoder() = default;

// Counts the content. Returns false when it is not to be encoded; the outcome says why.
bool Encoder::State::admit(Work& work, Lineage lineage, bool filter) {
  ++stats.contents;
  stats.content_bytes += work.content.size();
  work.encoding.outcome = Outcome::disabled;
  if (!options.enabled || governor.never_probes()) return false;
  const bool admitted = size_filter.admits(static_cast<uint32_t>(work.content.size())) || !filter;
  if (admitted) finder.sketch(work.id.collection, work.content, lineage, work.similar);
  const Features& features = work.similar.features;
  // The first feature is that of the lineage, or the one that versions are the likeliest to share.
  if (!governor.on() && (features.empty() || !governor.probes(uint64_t{features[0]} << 32))) return false;
  work.encoding.outcome = admitted && !features.empty() ? Outcome::unique : Outcome::filtered;
  return work.encoding.outcome == Outcome::unique;
}

void Encoder::State::find_similar(Work& work) {
  finder.find(work.id.collection, work.similar);
  auto& candidates = work.similar.candidates;
  for (Candidate& candidate : candidates) candidate.cached = cache.contains(candidate.id);
  stats.candidates += candidates.size();
  rank(candidates, options);
}

// Returns the content where it lies in the cache, or in `room`; nullptr when it can't be had.
const Bytes* Encoder::State::fetch(const ContentId& id, RecordSource& records, Bytes& room) {
  if (const Bytes* cached = cache.find(id)) {
    ++stats.source_hits;
    return cached;
  }
  auto bytes = records.fetch(id);
  ++(bytes ? stats.source_fetches : stats.sources_gone);
  if (!bytes) return nullptr;
  room = std::move(*bytes);
  return &room;
}

Encoding Encoder::State::encode(Work& work, Lineage lineage) {
  if (!admit(work, lineage, true)) return finish(work);
  find_similar(work);
  for (const Candidate& candidate : work.similar.candidates) {
    if (candidate.id != work.id) continue;
    work.encoding.placement = candidate.placement;  // seen before: its chain goes on without another entry
    return finish(work);
  }
  uint32_t tried = 0, fetches = 0;
  for (size_t place = 0; place < work.similar.candidates.size(); ++place) {
    if (tried == options.sources_tried || fetches++ == fetches_max || work.late) break;
    if (!try_source(work, place)) continue;
    ++tried;
    // A superseded source serves the log; the newest of its chain is still looked for, to be kept as a delta. A better source is
    // looked for as well, if the delta is poor: documents of one form are all a little alike.
    if (work.best && at_most(good_percent, work.best->backward.size(), work.best->source_bytes)) break;
  }
  if (work.best) {
    auto& [candidate, choice, source_bytes, backward] = *work.best;
    if (options.demotion_depth_max > 0 && !at_most(good_percent, backward.size(), source_bytes)) {
      demote_onto(work, *work.best);
    } else {
      write_back_predecessor(work, candidate.id, candidate.placement, candidate.pointer, source_bytes, std::move(backward),
                             choice);
    }
  }
  if (tried > 0)
    work.encoding.outcome = work.encoding.source || !work.encoding.write_backs.empty() ? Outcome::encoded : Outcome::not_worth;
  if (work.late) return finish(work);
  move_hop_bases(work, true);
  remember(work, true);
  return finish(work);
}

// Returns false when the source can't be had.
bool Encoder::State::try_source(Work& work, size_t place) {
  const Candidate& candidate = work.similar.candidates[place];
  const Choice choice = choice_of(work.similar.candidates, place, options);
  Bytes room;
  const Bytes* source = fetch(candidate.id, work.records, room);
  if (!source) {
    finder.drop(candidate.pointer);
    return false;
  }
  Encoding& encoding = work.encoding;
  auto both = both_ways(*source, work.content, encoding.source ? encoding.forward.size() : SIZE_MAX);
  if (!both) return true;
  if (both->forward.size() < work.content.size() && (!encoding.source || both->forward.size() < encoding.forward.size())) {
    encoding.source = candidate.id;
    encoding.forward = std::move(both->forward);
    work.used = candidate.pointer;
  }
  if (!candidate.kin) return true;
  if (!may_be_base(work.id, candidate.id)) {
    if (!candidate.superseded && !work.best && encoding.source == candidate.id) come_late(work, candidate, choice);
    return true;
  }
  if (!worth(both->backward.size(), source->size())) return true;

  if (!candidate.superseded) {
    const bool demotable =
        options.demotion_depth_max == 0 || (candidate.delta_bytes == 0 && candidate.demoted_below < options.demotion_depth_max);
    if (!demotable && !at_most(good_percent, both->backward.size(), source->size())) return true;
    if (!work.best || both->backward.size() < work.best->backward.size())
      work.best = Work::Head{candidate, choice, source->size(), std::move(both->backward)};
    return true;
  }
  // Within a lineage all contents continue from its newest. Another source is taken only where that can't be had, and then for
  // the log.
  if (candidate.named && options.overlap == OverlapPolicy::re_encode) return true;
  // The source has a base already. A new one is worth a write where the old delta was poor, as when a text was spoilt and then
  // restored.
  const size_t now = candidate.delta_bytes;
  const bool better = now > 2 * both->backward.size() + merged_bytes_min;
  if (!better && options.overlap == OverlapPolicy::keep) return true;
  ++stats.improved_write_backs;
  if (options.overlap == OverlapPolicy::re_encode) work.replaced = candidate.id;
  work.superseded.push_back({candidate.pointer, static_cast<uint32_t>(both->backward.size())});
  const size_t saved = now > both->backward.size() ? now - both->backward.size() : 0;
  work.saved += saved;
  encoding.write_backs.push_back(
      {candidate.id, work.id, candidate.placement, encoding.placement, std::move(both->backward), source->size(), saved, choice});
  return true;
}

// Contents written at the same time may arrive out of order. The newest of the
// chain stays what it is, and the late one is kept as a delta against it.
void Encoder::State::come_late(Work& work, const Candidate& candidate, Choice choice) {
  Encoding& encoding = work.encoding;
  if (!may_be_base(candidate.id, work.id) || !worth(encoding.forward.size(), work.content.size())) return;
  work.late = true;
  encoding.placement = {candidate.placement.chain, candidate.placement.ordinal - (candidate.placement.ordinal > 0)};
  encoding.write_backs.push_back({work.id, candidate.id, encoding.placement, candidate.placement, encoding.forward,
                                  work.content.size(), work.content.size() - encoding.forward.size(), choice});
  work.saved += encoding.write_backs.back().saved_bytes;
}

// The two have little in common. If the content continued that chain, it would hide the chain's newest from its own next version.
// So the newest stays that, but is kept as a delta against this content, as far as heads may stand on each other.
void Encoder::State::demote_onto(Work& work, Work::Head& head) {
  const Candidate& candidate = head.candidate;
  finder.metadata().set_delta_bytes(candidate.pointer, static_cast<uint32_t>(head.backward.size()));
  work.demoted_below = static_cast<uint8_t>(candidate.demoted_below + 1);
  const size_t saved = head.source_bytes - head.backward.size();
  work.saved += saved;
  ++stats.demoted_at_once;
  work.encoding.write_backs.push_back({candidate.id, work.id, candidate.placement, work.encoding.placement,
                                       std::move(head.backward), head.source_bytes, saved, head.choice});
}

// The content continues the chain of `source`.
void Encoder::State::follow(Work& work, const ContentId& source, Placement placement, MetadataPointer pointer) {
  work.predecessor = pointer;
  work.replaced = source;
  work.encoding.placement = {placement.chain, placement.ordinal + 1};
  if (const auto entry = pointer ? finder.metadata().find(pointer) : std::nullopt) {
    work.hop_bases.assign(entry->hop_bases.begin(), entry->hop_bases.end());
    work.demoted_below = entry->demoted_below;
  }
  if (placement.ordinal == 0) work.hop_bases = {source};
}

// ... and `source` becomes a delta against it, unless it is a reference version (§4.1.2).
void Encoder::State::write_back_predecessor(Work& work, const ContentId& source, Placement placement, MetadataPointer pointer,
                                            size_t source_bytes, Bytes backward, Choice choice) {
  follow(work, source, placement, pointer);
  for (auto& write_back : work.encoding.write_backs) write_back.base_placement = work.encoding.placement;
  const bool stays =
      options.encoding == EncodingScheme::version_jumping && placement.ordinal % options.hop_distance == options.hop_distance - 1;
  const size_t delta_bytes = stays ? source_bytes : backward.size();
  size_t now = source_bytes;
  if (const auto entry = pointer ? finder.metadata().find(pointer) : std::nullopt; entry && entry->delta_bytes)
    now = entry->delta_bytes;
  if (pointer) work.superseded.push_back({pointer, static_cast<uint32_t>(delta_bytes)});
  if (stays) return;
  const size_t saved = now > backward.size() ? now - backward.size() : 0;
  work.saved += saved;
  work.encoding.write_backs.push_back(
      {source, work.id, placement, work.encoding.placement, std::move(backward), source_bytes, saved, choice});
}

// The content takes its place among the latest hop bases of its chain (§4.1.2, §4.2.1: "replaces its adjacent bases").
void Encoder::State::move_hop_bases(Work& work, bool with_deltas) {
  const uint32_t ordinal = work.encoding.placement.ordinal;
  const uint32_t levels = hops.levels_known(ordinal);
  if (!work.predecessor || levels == 0) {
    if (levels == 0) work.hop_bases.clear();
    return;
  }
  const auto known = work.hop_bases;  // by level, before this content takes its place
  work.hop_bases.resize(std::min<size_t>(work.hop_bases.size(), levels));
  while (!known.empty() && work.hop_bases.size() < levels) work.hop_bases.push_back(known.back());
  const auto old_bases = work.hop_bases;
  const auto ordinals = hops.re_encoded(ordinal);
  const size_t moved = std::min(ordinals.size(), old_bases.size());
  std::fill_n(work.hop_bases.begin(), moved, work.id);
  for (size_t level = 0; level < moved && with_deltas; ++level) {
    const ContentId target = old_bases[level];
    if (!may_be_base(work.id, target)) continue;
    if (level > 0 && target == old_bases[level - 1]) continue;
    re_encode_hop_base(work, target, ordinals[level]);
    // A higher level may still want it.
    if (std::find(work.hop_bases.begin(), work.hop_bases.end(), target) == work.hop_bases.end()) cache.forget(target);
  }
}

void Encoder::State::re_encode_hop_base(Work& work, const ContentId& target, uint32_t ordinal) {
  Bytes room;
  const Bytes* content = fetch(target, work.records, room);
  if (!content) return;
  DeltaOptions bounded = delta;
  bounded.literal_bytes_max = content->size() * options.worth_percent / 100;
  auto delta_of_base = dedup::encode(work.content, *content, bounded);
  if (!delta_of_base || !worth(delta_of_base->size(), content->size())) return;
  ++stats.hop_write_backs;
  const size_t saved = content->size() - delta_of_base->size();
  work.encoding.write_backs.push_back({target,
                                       work.id,
                                       {work.encoding.placement.chain, ordinal},
                                       work.encoding.placement,
                                       std::move(*delta_of_base),
                                       content->size(),
                                       saved});
}

void Encoder::State::remember(Work& work, bool cached) {
  finder.add({work.id, work.encoding.placement, work.similar.features, work.similar.has_lineage, work.demoted_below, 0,
              std::move(work.hop_bases)},
             work.similar, work.used);
  for (const auto& [old, delta_bytes] : work.superseded) finder.metadata().supersede(old, delta_bytes);
  if (!cached) return;
  if (work.replaced) {
    const uint32_t before = work.encoding.placement.ordinal - 1;
    const bool hop_base = work.predecessor && hops.levels_known(before) > 0 && (before == 0 || hops.levels(before) > 0);
    cache.replace(*work.replaced, hop_base, work.id, work.content);
  } else {
    cache.add(work.id, work.content);
  }
}

Encoding Encoder::State::finish(Work& work) {
  const Encoding& encoding = work.encoding;
  stats.saved_bytes += work.saved;
  stats.write_backs += encoding.write_backs.size();
  stats.forward_bytes += encoding.source ? encoding.forward.size() : work.content.size();
  switch (encoding.outcome) {
    case Outcome::encoded: ++stats.encoded; break;
    case Outcome::unique: ++stats.unique; break;
    case Outcome::filtered: ++stats.filtered; break;
    case Outcome::disabled: ++stats.disabled; break;
    case Outcome::not_worth: ++stats.not_worth; break;
  }
  if (options.enabled &&
      governor.saw(encoding.outcome != Outcome::disabled, work.content.size(), work.saved) == Governor::Verdict::turn_off) {
    finder.clear();
    cache.clear();
  }
  return std::move(work.encoding);
}

Encoding Encoder::State::encode_successor(Work& work, const ContentId& previous, BytesView previous_content,
                                          Placement previous_placement, Lineage lineage) {
  const bool indexed = admit(work, lineage, false);
  if (work.encoding.outcome == Outcome::disabled) return finish(work);
  if (indexed) find_similar(work);
  work.encoding.outcome = Outcome::not_worth;
  if (auto both = both_ways(previous_content, work.content)) {
    if (both->forward.size() < work.content.size()) {
      work.encoding.source = previous;
      work.encoding.forward = std::move(both->forward);
      work.encoding.outcome = Outcome::encoded;
    }
    if (may_be_base(work.id, previous) && worth(both->backward.size(), previous_content.size())) {
      const auto pointer = finder.metadata().find_cached(previous);
      write_back_predecessor(work, previous, previous_placement, pointer.value_or(0), previous_content.size(),
                             std::move(both->backward), Choice::given);
      work.encoding.outcome = Outcome::encoded;
    }
  }
  work.replaced = previous;
  move_hop_bases(work, true);
  if (indexed) remember(work, true);
  return finish(work);
}

Placement Encoder::State::observe(Work& work, const std::optional<ContentId>& source, Lineage lineage) {
  const bool indexed = admit(work, lineage, true);
  if (work.encoding.outcome != Outcome::disabled) ++stats.observed;
  if (!indexed) return finish(work).placement;
  find_similar(work);
  for (const Candidate& candidate : work.similar.candidates) {
    if (candidate.id == work.id) {
      work.encoding.placement = candidate.placement;
      return finish(work).placement;
    }
    if (candidate.id == source) work.used = candidate.pointer;
  }
  if (source && !work.used) work.used = finder.metadata().find_cached(*source).value_or(0);
  if (const auto entry = work.used ? finder.metadata().find(work.used) : std::nullopt) {
    work.encoding.outcome = Outcome::encoded;
    const bool kin = entry->lineage() == (work.similar.has_lineage ? work.similar.features[0] : 0);
    if (kin && !entry->superseded && may_be_base(work.id, *source)) {
      follow(work, *source, entry->placement, work.used);
      work.superseded.push_back({work.used, 0});
    }
  }
  move_hop_bases(work, false);
  remember(work, false);
  return finish(work).placement;
}

std::optional<Backward> Encoder::State::demote(const ContentId& id, BytesView content, Placement placement, RecordSource& records,
                                               Lineage lineage) {
  if (!options.enabled || !governor.on() || options.demotion_depth_max == 0) return std::nullopt;
  Similar similar;
  finder.sketch(id.collection, content, lineage, similar);
  finder.find(id.collection, similar);
  MetadataLog& metadata = finder.metadata();
  // Finds the entry by name, if its page is in memory, and else by its features.
  MetadataPointer own = metadata.find_cached(id).value_or(0);
  for (const Candidate& one : similar.candidates)
    if (one.id == id) own = one.pointer;
  // It is not known how many heads stand on it, and more might be too many.
  if (!own && placement.ordinal > 0) return std::nullopt;
  uint32_t depth = 0;
  if (const auto entry = own ? metadata.find(own) : std::nullopt) {
    if (entry->superseded || entry->delta_bytes || entry->demoted_below >= options.demotion_depth_max) return std::nullopt;
    depth = entry->demoted_below;
    placement = entry->placement;
  }
  std::erase_if(similar.candidates,
                [&](const Candidate& one) { return one.superseded || one.delta_bytes || !may_be_base(one.id, id); });
  for (Candidate& candidate : similar.candidates) candidate.cached = cache.contains(candidate.id);
  rank(similar.candidates, options);

  std::optional<Backward> best;
  MetadataPointer base = 0;
  for (size_t i = 0; i < std::min<size_t>(similar.candidates.size(), options.sources_tried); ++i) {
    const Candidate& candidate = similar.candidates[i];
    Bytes room;
    const Bytes* source = fetch(candidate.id, records, room);
    if (!source) {
      finder.drop(candidate.pointer);
      continue;
    }
    auto made = dedup::encode(*source, content, delta);
    if (!made || !at_most(options.demotion_worth_percent, made->size(), content.size()) ||
        (best && made->size() >= best->delta.size()))
      continue;
    const size_t saved = content.size() - made->size();
    best = Backward{id,
                    candidate.id,
                    placement,
                    candidate.placement,
                    std::move(*made),
                    content.size(),
                    saved,
                    choice_of(similar.candidates, i, options)};
    base = candidate.pointer;
  }
  if (!best) return std::nullopt;
  if (own) metadata.set_delta_bytes(own, static_cast<uint32_t>(best->delta.size()));
  if (const auto entry = metadata.find(base))
    metadata.set_demoted_below(base, static_cast<uint8_t>(std::max<uint32_t>(entry->demoted_below, depth + 1)));
  cache.forget(id);
  ++stats.demoted;
  stats.saved_bytes += best->saved_bytes;
  return best;
}

// --- the public face

Encoding Encoder::encode(const ContentId& id, BytesView content, RecordSource& records, Lineage lineage) {
  State::Work work(id, content, records);
  return state_->encode(work, lineage);
}

Encoding Encoder::encode_successor(const ContentId& id, BytesView content, const ContentId& previous, BytesView previous_content,
                                   Placement previous_placement, RecordSource& records, Lineage lineage) {
  State::Work work(id, content, records);
  return state_->encode_successor(work, previous, previous_content, previous_placement, lineage);
}

Placement Encoder::observe(const ContentId& id, BytesView content, const std::optional<ContentId>& source, Lineage lineage) {
  struct Nothing : RecordSource {
    std::optional<Bytes> fetch(const ContentId&) override { return std::nullopt; }
  } nothing;
  State::Work work(id, content, nothing);
  return state_->observe(work, source, lineage);
}

std::optional<Backward> Encoder::demote(const ContentId& id, BytesView content, Placement placement, RecordSource& records,
                                        Lineage lineage) {
  return state_->demote(id, content, placement, records, lineage);
}

std::optional<Placement> Encoder::placement(const ContentId& id) const {
  MetadataLog& metadata = state_->finder.metadata();
  const auto pointer = metadata.find_cached(id);
  const auto entry = pointer ? metadata.find(*pointer) : std::nullopt;
  return entry ? std::optional(entry->placement) : std::nullopt;
}

void Encoder::promote(const ContentId& id) {
  const auto pointer = state_->finder.metadata().find_cached(id);
  if (!pointer) return;
  state_->finder.metadata().set_delta_bytes(*pointer, 0);
  ++state_->stats.promoted;
}

void Encoder::set_options(const Options& options) {
  State& s = *state_;
  const Options valid = validate(options).or_throw();
  if (invalidates_index(s.options, valid)) s.cache.clear();
  s.options = valid;
  s.set_delta_options();
  s.finder.set_options(valid);
  s.cache.set_bytes_max(valid.source_cache_bytes);
  s.hops = State::hop_policy(valid);
  s.governor.set_options(valid);
  s.size_filter.set_options(valid);
}

const Options& Encoder::options() const {
  return state_->options;
}

void Encoder::forget(const ContentId& id) {
  state_->cache.forget(id);
  if (const auto pointer = state_->finder.metadata().find_cached(id)) state_->finder.drop(*pointer);
}

void Encoder::forget_collection(uint32_t collection) {
  state_->cache.clear();
  state_->finder.drop_collection(collection);
}

void Encoder::distrust_cache() {
  state_->cache.clear();
}

void Encoder::rebuild() {
  state_->finder.rebuild();
}

void Encoder::flush() {
  state_->finder.flush();
}

void Encoder::set_pressure(bool pressure) {
  state_->size_filter.set_pressure(pressure);
}

EncoderStats Encoder::stats() const {
  State& s = *state_;
  EncoderStats stats = s.stats;
  const Finder::Stats found = s.finder.stats();
  stats.false_matches = found.false_matches;
  stats.live_entries = s.finder.metadata().live();
  stats.index_records = found.records;
  stats.index_live_bytes = found.live_bytes;
  stats.index_bytes = found.memory_bytes;
  stats.index_grown = found.grown;
  stats.index_forgotten = found.forgotten;
  stats.index_thinned = found.thinned;
  stats.metadata_bytes = s.finder.metadata().memory_bytes();
  stats.source_cache_bytes = s.cache.bytes();
  stats.governor = s.governor.state();
  stats.enabled = stats.governor.on;
  stats.size_threshold = s.size_filter.threshold();
  return stats;
}

}  // namespace dedup
