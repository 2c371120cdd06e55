#include "dedup/advisor.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <map>
#include <unordered_map>

#include "base/hash.h"
#include "dedup/feature_index.h"
#include "dedup/memory_pages.h"
#include "dedup/sketch.h"

namespace dedup {

namespace {

// the cost of a read in a chain without end: two levels of hop bases at a distance of 16
constexpr uint32_t piece_contents_max = 256;
constexpr uint32_t piece_contents_min = 32;  // a piece of long contents isn't cut before: two hop bases
constexpr double piece_bytes_max = 4 << 20;
constexpr uint32_t stratum_pieces_min = 5;  // so many must be in the sample to stand for all pieces of their length
constexpr size_t strata = 33;
constexpr uint32_t features_joining = 2;  // features that a content must share with a chain to belong to it
constexpr uint32_t matches_per_feature = 2;
constexpr uint32_t matches_followed = 6;
// Rows cost this beside their bytes, as the store's own counts show.
constexpr uint64_t whole_row_bytes = 18, stub_bytes = 12, delta_row_bytes = 22;
constexpr uint64_t compressed_row_bytes = 6;
constexpr size_t kept_entry_bytes = 120;

// Compresses the bytes it is given in blocks, and adds up their compressed lengths.
class Blocks {
 public:
  Blocks(size_t block_bytes, const std::function<size_t(BytesView)>& compressed)
      : block_bytes_(block_bytes), compressed_(compressed) {}

  void add(BytesView bytes) {
    block_.append(bytes);
    if (block_.size() >= block_bytes_) close();
  }
  void close() {
    if (block_.empty()) return;
    plain_ += block_.size();
    total_ += compressed_(block_);
    block_.clear();
  }
  uint64_t plain() const { return plain_; }
  uint64_t total() const { return total_; }
  double ratio() const { return plain_ > 0 ? static_cast<double>(total_) / static_cast<double>(plain_) : 1; }

 private:
  const size_t block_bytes_;
  const std::function<size_t(BytesView)>& compressed_;
  Bytes block_;
  uint64_t plain_ = 0, total_ = 0;
};

// A content of the sample, in the form in which it would be kept by now.
struct Kept {
  uint32_t piece = 0;
  bool counted = true;
  bool with_source = false;
  uint32_t content_bytes = 0;
  int64_t chain = 0;
  std::optional<ContentId> base;  // nullopt: it is kept whole
  Bytes delta;
};

struct PieceSize {
  uint32_t contents = 0;
  float bytes = 0;
};

struct Weight {
  double by_count = 0, by_bytes = 0;
};

// Pieces by length, in classes that double: for one piece in the sample, how many contents and bytes all pieces hold. Lengths
// that the sample has too few pieces of are counted with the next shorter ones.
class Strata {
 public:
  using SizeOf = std::function<PieceSize(uint32_t piece)>;
  explicit Strata(SizeOf size_of) : size_of_(std::move(size_of)) {}

  void add(const PieceSize& size) { add(all_[by_length(size)], size); }
  void add_sampled(uint32_t piece) {
    const PieceSize size = size_of_(piece);
    add(sampled_[by_length(size)], size);
  }
  // Call this once all pieces are added.
  void settle() {
    size_t group = 0;
    Sum all, sampled;
    std::vector<size_t> members;
    const auto close = [&] {
      for (const size_t member : members) group_[member] = group;
      weights_[group] = {sampled.contents > 0 ? all.contents / sampled.contents : 0,
                         sampled.bytes > 0 ? all.bytes / sampled.bytes : 0};
    };
    for (size_t length = strata; length-- > 0;) {
      if (members.empty()) group = length;
      members.push_back(length);
      merge(all, all_[length]);
      merge(sampled, sampled_[length]);
      // The shorter pieces that are left must be enough to stand for themselves.
      double below = 0;
      for (size_t shorter = 0; shorter < length; ++shorter) below += sampled_[shorter].pieces;
      if (sampled.pieces < stratum_pieces_min || (length > 0 && below < stratum_pieces_min)) continue;
      close();
      members.clear();
      all = sampled = {};
    }
    if (!members.empty()) close();
  }

  size_t stratum(uint32_t piece) const { return group_[by_length(size_of_(piece))]; }
  Weight weight_of_stratum(size_t stratum) const { return weights_[stratum]; }
  Weight weight(uint32_t piece) const { return weights_[stratum(piece)]; }

 private:
  struct Sum {
    double pieces = 0, contents = 0, bytes = 0;
  };
  static size_t by_length(const PieceSize& size) { return static_cast<size_t>(std::bit_width(size.contents)); }
  static void add(Sum& sum, const PieceSize& size) { merge(sum, {1, static_cast<double>(size.contents), size.bytes}); }
  static void merge(Sum& sum, const Sum& more) {
    sum.pieces += more.pieces;
    sum.contents += more.contents;
    sum.bytes += more.bytes;
  }

  const SizeOf size_of_;
  std::array<Sum, strata> all_, sampled_;
  std::array<size_t, strata> group_{};
  std::array<Weight, strata> weights_{};
};

// One profile's encoder, run on the sampled contents.
class Trial {
 public:
  Trial(const Options& options, uint64_t seed) : encoder_(scratch(options), seed, pages_) {}

  std::optional<ContentId> encode(const ContentId& id, BytesView content, uint32_t piece, bool counted, RecordSource& records,
                                  Lineage lineage) {
    Encoding encoding = encoder_.encode(id, content, records, lineage);
    Kept kept;
    kept.piece = piece;
    kept.counted = counted;
    kept.with_source = encoding.source.has_value();
    kept.content_bytes = static_cast<uint32_t>(content.size());
    kept.chain = encoding.placement.chain;
    kept_.insert_or_assign(id, std::move(kept));
    bytes_ += kept_entry_bytes;
    for (Backward& write_back : encoding.write_backs) {
      const auto target = kept_.find(write_back.target);
      if (target == kept_.end()) continue;
      bytes_ += write_back.delta.size() - target->second.delta.size();
      target->second.base = write_back.base;
      target->second.chain = write_back.target_placement.chain;
      target->second.delta = std::move(write_back.delta);
    }
    return encoding.source;
  }

  size_t bytes() const { return bytes_; }

  // Keeps only pieces that are still in the sample.
  template <class Sampled>
  void thin_out(Sampled sampled) {
    for (auto at = kept_.begin(); at != kept_.end();) {
      if (sampled(at->second.piece)) {
        ++at;
        continue;
      }
      encoder_.forget(at->first);
      bytes_ -= kept_entry_bytes + at->second.delta.size();
      at = kept_.erase(at);
    }
  }

  const std::unordered_map<ContentId, Kept>& kept() const { return kept_; }

  TrialResult result(size_t block_bytes, const std::function<size_t(BytesView)>& compressed, RecordSource& records,
                     const Strata& strata_of_pieces, double share, const std::function<void()>& between) const {
    std::vector<const std::pair<const ContentId, Kept>*> order;
    for (const auto& entry : kept_) {
      if (entry.second.counted) order.push_back(&entry);
    }
    std::sort(order.begin(), order.end(), [](const auto* a, const auto* b) { return a->first < b->first; });
    Blocks whole(block_bytes, compressed), deltas(block_bytes, compressed);
    std::unordered_map<uint32_t, Piece> pieces;
    Estimate all;
    for (const auto* entry : order) {
      const Kept& kept = entry->second;
      const Weight weight = strata_of_pieces.weight(kept.piece);
      all.with_source += weight.by_count * kept.with_source;
      const size_t stored = kept.base ? kept.delta.size() + stub_bytes + delta_row_bytes : kept.content_bytes + whole_row_bytes;
      all.stored += weight.by_bytes * static_cast<double>(stored);
      all.rows += weight.by_count * (kept.base ? 2 : 1);
      Piece& piece = pieces[kept.piece];
      piece.content_bytes += static_cast<double>(kept.content_bytes);
      piece.stored_bytes += static_cast<double>(stored);
      if (kept.base) {
        all.deltas += weight.by_count;
        all.delta_bytes += weight.by_bytes * static_cast<double>(kept.delta.size());
        continue;
      }
      all.whole_bytes += weight.by_bytes * static_cast<double>(kept.content_bytes);
      if (between) between();
      if (const auto content = records.fetch(entry->first)) whole.add(*content);
    }
    whole.close();
    // The rows go chain by chain, as in the chain table.
    std::stable_sort(order.begin(), order.end(), [](const auto* a, const auto* b) { return a->second.chain < b->second.chain; });
    for (const auto* entry : order) {
      if (entry->second.base) deltas.add(entry->second.delta);
    }
    deltas.close();
    TrialResult result;
    result.with_source = rounded(all.with_source);
    result.deltas = rounded(all.deltas);
    result.stored_bytes = rounded(all.stored);
    result.block_bytes =
        rounded(all.whole_bytes * whole.ratio() + all.delta_bytes * deltas.ratio() + compressed_row_bytes * all.rows);
    result.error = relative_error(pieces, strata_of_pieces, share, all.stored);
    count_hops(order, strata_of_pieces, result);
    return result;
  }

 private:
  struct Piece {
    double content_bytes = 0, stored_bytes = 0;
  };
  struct Estimate {
    double with_source = 0, deltas = 0, rows = 0, stored = 0, whole_bytes = 0, delta_bytes = 0;
  };
  static uint64_t rounded(double value) { return static_cast<uint64_t>(std::llround(value)); }

  // The standard error of ratios of sums over pieces that were drawn alike, by length (Cochran, Sampling Techniques, §6.4 and
  // §6.10).
  static double relative_error(const std::unordered_map<uint32_t, Piece>& pieces, const Strata& strata_of_pieces, double share,
                               double all) {
    std::map<size_t, Piece> sums;
    std::map<size_t, double> counts, squares;
    for (const auto& [number, piece] : pieces) {
      const size_t stratum = strata_of_pieces.stratum(number);
      sums[stratum].content_bytes += piece.content_bytes;
      sums[stratum].stored_bytes += piece.stored_bytes;
      ++counts[stratum];
    }
    double variance = 0;
    for (const auto& [number, piece] : pieces) {
      const size_t stratum = strata_of_pieces.stratum(number);
      const Piece& sum = sums[stratum];
      const double off = piece.stored_bytes - sum.stored_bytes / std::max(sum.content_bytes, 1.0) * piece.content_bytes;
      squares[stratum] += off * off;
    }
    for (const auto& [stratum, square] : squares) {
      const double weight = strata_of_pieces.weight_of_stratum(stratum).by_bytes;
      variance += weight * weight * square * counts[stratum] / std::max(counts[stratum] - 1, 1.0) * std::max(0.0, 1 - share);
    }
    return all > 0 ? std::sqrt(variance) / all : 0;
  }

  static Options scratch(Options options) {
    options.governor_window = 0;
    options.source_cache_bytes = 8 << 20;
    options.metadata_cache_bytes = 4 << 20;
    options.index_bytes_max = 16 << 20;
    return options;
  }

  template <class Order>
  void count_hops(const Order& order, const Strata& strata_of_pieces, TrialResult& result) const {
    std::unordered_map<ContentId, uint32_t> known;
    double sum = 0, contents = 0;
    for (auto entry = order.rbegin(); entry != order.rend(); ++entry) {
      std::vector<ContentId> way;
      uint32_t hops = 0;
      for (ContentId at = (*entry)->first;;) {
        if (const auto found = known.find(at); found != known.end()) {
          hops = found->second;
          break;
        }
        const auto kept = kept_.find(at);
        if (kept == kept_.end() || !kept->second.base) break;
        way.push_back(at);
        at = *kept->second.base;
      }
      for (auto one = way.rbegin(); one != way.rend(); ++one) known[*one] = ++hops;
      const double weight = strata_of_pieces.weight((*entry)->second.piece).by_count;
      sum += weight * hops;
      contents += weight;
      result.hops_max = std::max(result.hops_max, hops);
    }
    if (contents > 0) result.hops_mean = sum / contents;
  }

  MemoryPages pages_;
  Encoder encoder_;
  std::unordered_map<ContentId, Kept> kept_;
  size_t bytes_ = 0;
};

}  // namespace

struct Advisor::State {
  State(const AdvisorOptions& o, uint64_t the_seed, std::function<size_t(BytesView)> compress)
      : options(o),
        seed(the_seed),
        compressed(std::move(compress)),
        sketcher(o.profiles.at(0), the_seed),
        index(the_seed),
        plain(o.block_bytes, compressed) {
    advice.share = o.share;
    const size_t entries = std::max<size_t>(1024, o.contents_expected * o.profiles[0].features_max * 3 / 2);
    index.reset(std::min(entries, o.index_bytes_max / FeatureIndex::entry_bytes));
    for (const Options& profile : o.profiles) trials.push_back(std::make_unique<Trial>(profile, the_seed));
  }

  bool sampled(uint64_t piece) const {
    const auto hash =
        static_cast<double>(base::hash64(std::string_view(reinterpret_cast<const char*>(&piece), sizeof piece), seed));
    return hash < advice.share * 0x1p64;
  }

  struct Place {
    uint32_t piece = 0;
    bool sampled = false;
    bool edge = false;  // the first content behind a sampled piece
  };

  Place place(const ContentId& id, BytesView content, Lineage lineage);
  Place place_of_lineage(BytesView content, Lineage lineage);
  uint32_t new_piece() {
    pieces.emplace_back();
    return static_cast<uint32_t>(pieces.size() - 1);
  }
  static bool full(const PieceSize& piece) {
    return piece.contents >= piece_contents_max || (piece.contents >= piece_contents_min && piece.bytes >= piece_bytes_max);
  }
  PieceSize size_of(uint32_t piece) const {
    if (piece < pieces.size()) return pieces[piece];
    const auto found = lineages.find(piece);
    return found == lineages.end() ? PieceSize{} : found->second;
  }
  void lead(const Features& features, uint32_t from, uint32_t to);
  void add_plain(BytesView content);

  const AdvisorOptions options;
  const uint64_t seed;
  const std::function<size_t(BytesView)> compressed;
  Sketcher sketcher;
  FeatureIndex index;                // feature -> piece of a chain
  std::vector<PieceSize> pieces{1};  // by number; none has number 0
  std::unordered_map<uint32_t, PieceSize> lineages;
  std::vector<std::unique_ptr<Trial>> trials;
  Blocks plain;
  size_t plain_run = 0;  // bytes of the run of contents that is seen at the moment
  uint64_t plain_runs = 0;
  Advice advice;
};

Advisor::Advisor(const AdvisorOptions& options, uint64_t seed, std::function<size_t(BytesView)> compressed)
    : state_(std::make_unique<State>(options, seed, std::move(compressed))) {}
Advisor::~Advisor() = default;

// Contents whose lineage is known belong together without being alike; their pieces are numbered by lineage, above all others.
Advisor::State::Place Advisor::State::place_of_lineage(BytesView content, Lineage lineage) {
  const auto piece = static_cast<uint32_t>(lineage >> 32 ^ lineage) | 0x80000000u;
  PieceSize& size = lineages[piece];
  ++size.contents;
  size.bytes += static_cast<float>(content.size());
  return {piece, sampled(piece), false};
}

Advisor::State::Place Advisor::State::place(const ContentId& id, BytesView content, Lineage lineage) {
  if (lineage != no_lineage) return place_of_lineage(content, lineage);
  const Features features = sketcher.sketch(id.collection, content);
  std::array<FeatureMatches, Features::max> matches;
  std::vector<std::pair<uint32_t, uint32_t>> votes;  // piece, features in common
  for (uint32_t i = 0; i < features.size(); ++i) {
    matches[i] = index.find(features[i], matches_followed);
    for (const FeatureMatch& match : matches[i]) {
      const auto known = std::find_if(votes.begin(), votes.end(), [&](const auto& vote) { return vote.first == match.pointer; });
      if (known == votes.end())
        votes.emplace_back(match.pointer, 1);
      else
        ++known->second;
    }
  }
  const auto best = std::max_element(votes.begin(), votes.end(), [](const auto& a, const auto& b) {
    return a.second != b.second ? a.second < b.second : a.first < b.first;
  });
  const bool joins = best != votes.end() && best->second >= std::min(features_joining, features.size());
  const uint32_t old = joins ? best->first : 0;
  Place place{old, false, false};
  if (!joins || full(pieces[old])) {
    place.piece = new_piece();
    place.edge = joins && sampled(old);
  }
  ++pieces[place.piece].contents;
  pieces[place.piece].bytes += static_cast<float>(content.size());
  lead(features, old, place.piece);
  place.sampled = sampled(place.piece);
  return place;
}

// Makes the features lead to piece `to`, where they led to `from` until now.
void Advisor::State::lead(const Features& features, uint32_t from, uint32_t to) {
  for (uint32_t i = 0; i < features.size(); ++i) {
    // they are looked up anew, because putting moves entries
    const FeatureMatches matches = index.find(features[i], matches_followed);
    const auto known =
        std::find_if(matches.begin(), matches.end(), [&](const FeatureMatch& match) { return match.pointer == from; });
    if (known != matches.end()) {
      if (from != to) index.overwrite(known->bucket, to);
    } else if (matches.size() >= matches_per_feature) {
      const auto oldest =
          std::min_element(matches.begin(), matches.end(), [](const auto& a, const auto& b) { return a.pointer < b.pointer; });
      index.overwrite(oldest->bucket, to);
    } else {
      index.put(features[i], to);
    }
  }
}

// These are runs of neighbours, each about a block long.
void Advisor::State::add_plain(BytesView content) {
  // With few runs the sample may have none.
  if (plain_runs == 0 || sampled(~plain_runs)) plain.add(content);
  plain_run += content.size();
  if (plain_run < options.block_bytes) return;
  plain.close();
  plain_run = 0;
  ++plain_runs;
}

Advisor::Seen Advisor::add(const ContentId& id, BytesView content, RecordSource& records, Lineage lineage) {
  State& s = *state_;
  ++s.advice.contents;
  s.advice.content_bytes += content.size();
  s.add_plain(content);
  const State::Place place = s.place(id, content, lineage);
  if (!place.sampled && !place.edge) return {};
  Seen seen{place.sampled, std::nullopt};
  bool first = true;
  for (auto& trial : s.trials) {
    const auto source = trial->encode(id, content, place.piece, place.sampled, records, lineage);
    if (first) seen.source = source;
    first = false;
    while (trial->bytes() > s.options.trial_bytes_max && s.advice.share > 1e-9) {
      s.advice.share /= 2;
      for (auto& thinned : s.trials) thinned->thin_out([&](uint32_t piece) { return s.sampled(piece); });
    }
  }
  return seen;
}

Advice Advisor::finish(RecordSource& records, const std::function<void()>& between) {
  State& s = *state_;
  s.plain.close();
  s.advice.plain_bytes = s.plain.plain();
  s.advice.plain_block_bytes = s.plain.total();
  std::vector<uint32_t> sampled;
  for (const auto& [id, kept] : s.trials[0]->kept()) {
    if (!kept.counted) continue;
    ++s.advice.sampled;
    s.advice.sampled_bytes += kept.content_bytes;
    sampled.push_back(kept.piece);
  }
  std::sort(sampled.begin(), sampled.end());
  sampled.erase(std::unique(sampled.begin(), sampled.end()), sampled.end());
  s.advice.chains = sampled.size();
  Strata by_length([&s](uint32_t piece) { return s.size_of(piece); });
  for (const PieceSize& piece : s.pieces) by_length.add(piece);
  for (const auto& [number, piece] : s.lineages) by_length.add(piece);
  for (const uint32_t piece : sampled) by_length.add_sampled(piece);
  by_length.settle();
  for (const auto& trial : s.trials) {
    s.advice.trials.push_back(trial->result(s.options.block_bytes, s.compressed, records, by_length, s.advice.share, between));
  }
  return s.advice;
}

}  // namespace dedup
