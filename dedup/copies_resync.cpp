// This is the default way to find copies. It is made for revisions: common front and back, and a few changes in
// between.
//
//   source  ======= abc ========== x ==================
//   target  ======= abbc ========= yz =================
//           prefix  ^ resync       ^ resync       suffix
//
// After a mismatch the bytes ahead are searched for a place where both sides agree again:
// right behind as many other bytes, as dates and numbers leave them, or anywhere. The
// place that leads furthest is taken, because the nearest is often a wrong one in records
// full of the same field names. Where that fails, and for longer passages from elsewhere,
// an index of the whole source is built, once, and only where there is enough to look up
// in it.
//
// Work is counted in steps of about a nanosecond. When there is more of it than the bytes that are done allow,
// resyncs get shorter, and in the end both resyncs and look-ups stop; what they would have found stays
// unmatched.
#include <algorithm>
#include <array>
#include <memory>

#include "dedup/copies.h"

namespace dedup {

namespace {

// These say how far a resync looks, and when it is content.
constexpr size_t near_bytes = 192;   // first, and only so far when hurried
constexpr size_t far_bytes = 2048;   // then
constexpr size_t replaced_run = 16;  // a match of so many bytes behind up to 16 other ones is accepted at once; a power of two
// The bytes at so many places behind a mismatch are searched too, where both sides differ; in a hurry only those at the first.
using Skips = std::array<size_t, KeyPlaces::keys_max>;
constexpr Skips near_skips = {8, 16, 32, 48, 72}, far_skips = {112, 176, 272, 416, 640};
constexpr size_t furthest_bytes = 512;   // how far candidates are compared
constexpr size_t convincing_bytes = 48;  // a match of so many bytes ends the search
constexpr int credit_max = 8;            // resyncs that may fail in a row
constexpr int wait_max = 63;             // long copies without one after it failed

// These say which copies are worth it.
constexpr size_t match_bytes_min = 12;  // shorter copies cost what they save
constexpr size_t gap_bytes_min = 32;    // shorter unmatched passages are not looked up
constexpr size_t index_share = 512;     // an index is built for so many-th part of the source, or more
constexpr size_t copies_unquestioned = 4096;
constexpr size_t shred_bytes = 24, shred_bytes_near = 16;

// This is work, in steps of about a nanosecond.
constexpr size_t copy_work = 40;
// Beyond copies_unquestioned the processor can't predict the copies any more, and its nearer caches don't hold them.
constexpr size_t copy_work_many = 60, resync_work_many = 180;
constexpr size_t search_work = 8, candidate_work = 12, replaced_work = 4;
constexpr size_t lookup_work = 2, lookup_work_distant = 8;
constexpr size_t place_indexed_work_distant = 6;
constexpr size_t place_work_distant = 100;       // a source far larger than the caches is asked at random
constexpr size_t short_copy_work_distant = 120;  // the price with so many of them, when nothing about them can be predicted
constexpr size_t work_per_byte = 2;              // of what is done; beyond it resyncs are hurried
constexpr size_t work_per_byte_max = 4;          // of the whole target; beyond it nothing is looked up any more
constexpr size_t resync_per_byte_max = 6;        // and nothing resynced where there are many copies
constexpr size_t work_unquestioned = 20'000;
constexpr size_t ahead = 16;  // look-ups are prefetched so many bytes ahead

// The index holds every n-th source position by a hash of the 8 bytes there; of equal ones it holds the first.
class SourceIndex {
 public:
  bool built() const { return slots_ != nullptr; }
  // Tells whether the table is too large for the nearer caches.
  bool distant() const { return stride_ > 8; }
  // So many look-ups in a row may fail although the bytes are in the source.
  size_t misses_expected() const { return std::max<size_t>(64, 4 * stride_); }

  // Takes fewer places of a source that is far larger than the target, because walking through it must not cost more than all the
  // rest. Returns how many.
  size_t build(BytesView source, size_t target_bytes) {
    stride_ = source.size() <= (6 << 10) ? 4 : source.size() <= (1 << 20) ? 8 : 16;
    const size_t places_most = std::min(places_max, std::max(places_unquestioned, target_bytes / target_bytes_per_place));
    while (source.size() / stride_ >= places_most) stride_ *= 2;
    const size_t places = source.size() / stride_ + 1;
    const int bits = std::max<int>(8, std::bit_width(places));
    shift_ = 64 - bits;
    const size_t slots = size_t{1} << bits;
    if (slots <= few_.size()) {
      std::memset(few_.data(), 0, slots * sizeof few_[0]);
      slots_ = few_.data();
    } else {
      many_ = std::make_unique<uint32_t[]>(slots);
      slots_ = many_.get();
    }
    if (source.size() < key_bytes) return places;
    // Goes backwards, so that the first of equal places stays: copies then tend to follow each other.
    const size_t last = (source.size() - key_bytes) / stride_ + 1;
    const auto put = [&](size_t place, uint64_t hash) {
      slots_[hash >> shift_] = static_cast<uint32_t>(place | tag(hash) << place_bits);
    };
    if (!distant() || last <= ahead) {
      for (size_t place = last; place > 0; --place) put(place, hash_of(source.data() + (place - 1) * stride_));
      return places;
    }
    std::array<uint64_t, ahead> announced;
    const auto announce = [&](size_t place) {
      const uint64_t hash = announced[place % ahead] = hash_of(source.data() + (place - 1) * stride_);
      __builtin_prefetch(&slots_[hash >> shift_], 1);
    };
    for (size_t place = last; place > last - ahead; --place) announce(place);
    for (size_t place = last; place > 0; --place) {
      put(place, announced[place % ahead]);
      if (place > ahead) announce(place - ahead);
    }
    return places;
  }

  static uint64_t hash_of(const char* key) { return base::load_le<uint64_t>(key) * 0x9e3779b97f4a7c15ull; }
  void prefetch(uint64_t hash) const { __builtin_prefetch(&slots_[hash >> shift_]); }
  // Returns a position that very likely holds the 8 bytes with this hash.
  std::optional<size_t> find(uint64_t hash) const {
    const uint32_t slot = slots_[hash >> shift_];
    // The order of the tests matters: the processor can't predict whether a slot is empty, but it can predict that a slot holds
    // another tag.
    if (slot >> place_bits != tag(hash) || slot == 0) [[likely]]
      return std::nullopt;
    return ((slot & (places_max - 1)) - 1) * stride_;
  }

 private:
  static constexpr int place_bits = 24;
  static constexpr size_t places_max = size_t{1} << place_bits;
  static constexpr size_t places_unquestioned = 16 << 10, target_bytes_per_place = 2;
  // The tag's bits have no part in choosing the slot.
  static uint32_t tag(uint64_t hash) { return (hash >> 24) & 0xff; }

  size_t stride_ = 4;
  int shift_ = 0;
  uint32_t* slots_ = nullptr;
  std::array<uint32_t, 4096> few_;  // most contents are small and need no allocation
  std::unique_ptr<uint32_t[]> many_;
};

class Finder {
 public:
  Finder(BytesView source, BytesView target, const DeltaOptions& options)
      : source_(source), target_(target), literal_bytes_max_(options.literal_bytes_max) {}

  std::optional<std::vector<Copy>> find() {
    copies_.reserve(16);
    const size_t shorter = std::min(source_.size(), target_.size());
    const size_t prefix = agree_forward(source_.data(), target_.data(), shorter);
    size_t suffix = agree_backward(source_.data() + source_.size(), target_.data() + target_.size(), shorter - prefix);
    if (suffix < match_bytes_min) suffix = 0;
    target_end_ = target_.size() - suffix;
    source_end_ = source_.size() - suffix;
    if (prefix >= match_bytes_min) emit({0, 0, prefix});

    at_ = emitted_;
    source_at_ = emitted_;
    while (at_ + match_bytes_min <= target_end_) {
      const bool resynced = credit_ > 0 && !(many() && exhausted(resync_per_byte_max)) && resync();
      if (!resynced && !look_up()) break;
      if (shreds(resynced ? shred_bytes_near : shred_bytes)) return std::nullopt;
    }
    fill_gaps();
    if (literals_ + (target_end_ - emitted_) > literal_bytes_max_) return std::nullopt;
    if (suffix) emit({source_.size() - suffix, target_end_, suffix});
    return std::move(copies_);
  }

 private:
  struct Gap {
    size_t from, to;
    size_t copies_before;
  };
  struct Best {
    size_t source_at = 0, target_at = 0, bytes = 0;
    ptrdiff_t score = 0;
  };

  // Finds where both sides agree again, a little behind the point where they parted.
  bool resync() {
    const size_t source_left = source_end_ - std::min(source_at_, source_end_), target_left = target_end_ - at_;
    if (source_left < key_bytes || target_left < key_bytes) {
      credit_ = 0;
      return false;
    }
    best_ = {};
    if (many()) work_ += resync_work_many;
    hurried_ = work_ > work_unquestioned + at_ * work_per_byte;
    const char* s = source_.data() + source_at_;
    const char* t = target_.data() + at_;
    if (!replaced(s, t, std::min(source_left, target_left))) {
      search_within(near_bytes, near_skips, s, t, source_left, target_left);
      // Matches that are far away are found by the index, once there is one.
      if (best_.bytes < match_bytes_min && !hurried_ && !index_.built())
        search_within(far_bytes, far_skips, s, t, source_left, target_left);
    }
    if (best_.bytes < match_bytes_min) {
      --credit_;
      wait_ = wait_next_ = std::min(2 * wait_next_ + 1, wait_max);
      return false;
    }
    credit_ = std::min(credit_ + 1, credit_max);
    wait_next_ = 0;
    const size_t from = emitted_, copies_before = copies_.size();
    take(best_.source_at, best_.target_at);
    const size_t to = copies_.back().target_at;
    if (copies_.size() > copies_before && to - from >= gap_bytes_min) gaps_.push_back({from, to, copies_before});
    return true;
  }

  // Tries the case that a few bytes became as many others, as in dates and numbers.
  bool replaced(const char* s, const char* t, size_t left) {
    if (left < equal_bytes) return false;
    work_ += replaced_work;
    uint32_t runs = equal(s, t);
    for (size_t length = 1; length < replaced_run; length *= 2) runs &= runs >> length;
    if (!runs) return false;
    const auto skipped = static_cast<size_t>(std::countr_zero(runs));
    best_ = {source_at_ + skipped, at_ + skipped, replaced_run, 0};
    return true;
  }

  // Looks for bytes a little behind `s` in `reach` bytes from `t`, and the other way round.
  void search_within(size_t reach, const Skips& skips, const char* s, const char* t, size_t source_left, size_t target_left) {
    const size_t in_target = std::min(reach, target_left - key_bytes + 1),
                 in_source = std::min(reach, source_left - key_bytes + 1);
    search(s, t, in_target, false);
    search(t, s, in_source, true);
    if (best_.bytes >= (hurried_ ? match_bytes_min : convincing_bytes)) return;
    if (hurried_) {
      if (skips[0] + key_bytes <= source_left) search(s + skips[0], t, in_target, false);
      if (skips[0] + key_bytes <= target_left) search(t + skips[0], s, in_source, true);
      return;
    }
    const size_t of_source = search_all(skips, s, source_left, t, in_target, in_target_),
                 of_target = search_all(skips, t, target_left, s, in_source, in_source_);
    for (size_t i = 0; i < std::max(of_source, of_target); ++i) {
      if (i < of_source)
        for (const size_t at : in_target_.of(i)) consider(s + skips[i], t + at);
      if (i < of_target)
        for (const size_t at : in_source_.of(i)) consider(s + at, t + skips[i]);
      if (best_.bytes >= convincing_bytes) return;
    }
  }

  // Tries the places among `places` where the bytes at `key` stand.
  void search(const char* key, const char* bytes, size_t places, bool in_source) {
    size_t at = 0;
    work_ += search_work + places / 32;
    for (size_t found = 0; found < (hurried_ ? 1 : KeyPlaces::places_max); ++found, ++at) {
      at += find_key(bytes + at, places - at, key);
      if (at >= places) return;
      const char* other = bytes + at;
      in_source ? consider(other, key) : consider(key, other);
    }
  }

  // Loads the bytes at each of `skips` behind `from`, and returns how many of these there are in `left` bytes.
  size_t search_all(const Skips& skips, const char* from, size_t left, const char* bytes, size_t places, KeyPlaces& found) {
    Keys keys;
    size_t count = 0;
    for (; count < skips.size() && skips[count] + key_bytes <= left; ++count)
      keys[count] = base::load_le<uint64_t>(from + skips[count]);
    if (count == 0) return 0;
    std::fill(keys.begin() + count, keys.end(), keys[0]);
    find_keys(bytes, places, keys, found);
    work_ += count * (search_work + places / 32);
    return count;
  }

  void consider(const char* s, const char* t) {
    const size_t source_at = static_cast<size_t>(s - source_.data()), target_at = static_cast<size_t>(t - target_.data());
    if (best_.bytes && target_at - best_.target_at == source_at - best_.source_at && target_at >= best_.target_at &&
        target_at < best_.target_at + best_.bytes)
      return;
    work_ += candidate_work;
    const size_t after = agree_forward(s, t, std::min({source_.size() - source_at, target_end_ - target_at, furthest_bytes}));
    const size_t before = agree_backward(s, t, std::min(source_at - source_at_, target_at - at_));
    const auto skipped = static_cast<ptrdiff_t>(target_at - before - at_),
               passed = static_cast<ptrdiff_t>(source_at - before - source_at_);
    const auto score = static_cast<ptrdiff_t>(before + after) - skipped - (passed >> 2);
    if (best_.bytes == 0 || score > best_.score) best_ = {source_at, target_at, before + after, score};
  }

  void build_index() {
    const size_t places = index_.build(source_, target_.size());
    if (index_.distant()) work_ += places * place_indexed_work_distant;
  }

  // Finds the next place whose bytes stand anywhere in the source. Returns false when there is none, or the search was given up.
  bool look_up() {
    if (!index_.built()) {
      if (target_end_ - at_ < gap_bytes_min + source_.size() / index_share) return false;
      build_index();
    }
    const bool distant = index_.distant();
    if (distant)
      for (size_t t = at_; t < at_ + ahead && t + key_bytes <= target_end_; ++t)
        index_.prefetch(SourceIndex::hash_of(target_.data() + t));
    // Steps grow while nothing is found; matching backwards finds what they skip.
    const int patience = std::bit_width(index_.misses_expected()) - 1;
    for (size_t t = at_, misses = 0; t + key_bytes <= target_end_; t += 1 + (++misses >> patience)) {
      if (literals_ + (t - emitted_) > literal_bytes_max_ || exhausted()) return false;
      if (distant && t + ahead + key_bytes <= target_end_) index_.prefetch(SourceIndex::hash_of(target_.data() + t + ahead));
      work_ += distant ? lookup_work_distant : lookup_work;
      const auto place = index_.find(SourceIndex::hash_of(target_.data() + t));
      if (!place) continue;
      if (distant) work_ += place_work_distant;
      if (take(*place, t)) {
        if (distant && copies_.back().bytes < convincing_bytes) work_ += short_copy_work_distant;
        // Look-ups find all passages that came in another order; resyncs between them would fail again and again.
        if (copies_.back().bytes >= convincing_bytes && wait_-- <= 0) credit_ = std::max(credit_, 1), wait_ = 0;
        return true;
      }
    }
    return false;
  }

  // Passages that a resync passed over may have come from elsewhere.
  void fill_gaps() {
    size_t bytes = 0;
    for (const Gap& gap : gaps_) bytes += gap.to - gap.from;
    if (gaps_.empty() || (!index_.built() && bytes < gap_bytes_min + source_.size() / index_share)) return;
    if (!index_.built()) build_index();
    const bool distant = index_.distant();
    const auto announce = [&](const Gap& gap) {
      for (size_t t = gap.from; t < gap.from + ahead && t + key_bytes <= gap.to; ++t)
        index_.prefetch(SourceIndex::hash_of(target_.data() + t));
    };
    if (distant) announce(gaps_.front());
    std::vector<Copy> all;
    all.reserve(copies_.size() + gaps_.size());
    size_t next = 0;
    for (const Gap& gap : gaps_) {
      if (distant && &gap != &gaps_.back()) announce(*(&gap + 1));
      all.insert(all.end(), copies_.begin() + static_cast<ptrdiff_t>(next),
                 copies_.begin() + static_cast<ptrdiff_t>(gap.copies_before));
      next = gap.copies_before;
      size_t covered = gap.from;
      for (size_t t = gap.from; t + key_bytes <= gap.to && !exhausted();) {
        work_ += distant ? lookup_work_distant : lookup_work;
        const auto s = index_.find(SourceIndex::hash_of(target_.data() + t));
        if (s && distant) work_ += place_work_distant;
        const Copy copy = s ? longest(*s, t, covered, gap.to) : Copy{};
        if (copy.bytes < match_bytes_min) {
          ++t;
          continue;
        }
        all.push_back(copy);
        literals_ -= copy.bytes;
        t = covered = copy.target_at + copy.bytes;
      }
    }
    all.insert(all.end(), copies_.begin() + static_cast<ptrdiff_t>(next), copies_.end());
    copies_ = std::move(all);
  }

  // Returns the copy through (s, t) within [from, to) of the target.
  Copy longest(size_t s, size_t t, size_t from, size_t to) const {
    const size_t after = agree_forward(source_.data() + s, target_.data() + t, std::min(source_.size() - s, to - t));
    const size_t before = agree_backward(source_.data() + s, target_.data() + t, std::min(s, t - from));
    return {s - before, t - before, before + after};
  }

  bool many() const { return copies_.size() > copies_unquestioned; }
  bool exhausted(size_t per_byte_max = work_per_byte_max) const {
    return work_ > work_unquestioned + target_.size() * per_byte_max;
  }

  // Tells whether there are a great many copies that hardly save the cost of finding, remembering and writing them.
  bool shreds(size_t bytes) const { return many() && emitted_ - literals_ < copies_.size() * bytes; }

  // Adds a copy through (s, t) as long as it goes, if it is worth one.
  bool take(size_t s, size_t t) {
    const size_t after = agree_forward(source_.data() + s, target_.data() + t, std::min(source_.size() - s, target_end_ - t));
    if (after < 4) return false;
    const size_t before = agree_backward(source_.data() + s, target_.data() + t, std::min(s, t - emitted_));
    if (before + after < match_bytes_min) return false;
    emit({s - before, t - before, before + after});
    at_ = emitted_;
    source_at_ = s + after;
    return true;
  }

  void emit(const Copy& copy) {
    literals_ += copy.target_at - emitted_;
    emitted_ = copy.target_at + copy.bytes;
    if (!copies_.empty()) {
      Copy& last = copies_.back();
      if (last.target_at + last.bytes == copy.target_at && last.source_at + last.bytes == copy.source_at) {
        last.bytes += copy.bytes;
        return;
      }
    }
    copies_.push_back(copy);
    work_ += many() ? copy_work_many : copy_work;
  }

  const BytesView source_;
  const BytesView target_;
  const size_t literal_bytes_max_;
  size_t target_end_ = 0;  // where the common back begins
  size_t source_end_ = 0;
  size_t at_ = 0;         // in the target: searched up to here
  size_t source_at_ = 0;  // in the source: the place where the last copy ended
  size_t emitted_ = 0;    // in the target: covered up to here
  size_t literals_ = 0;
  int credit_ = 4;  // resyncs that may still fail in a row
  Best best_;
  KeyPlaces in_target_, in_source_;
  bool hurried_ = false;
  int wait_ = 0;  // long copies to go before the next resync after a look-up
  int wait_next_ = 0;
  size_t work_ = 0;  // steps done, each of about a nanosecond
  std::vector<Copy> copies_;
  std::vector<Gap> gaps_;
  SourceIndex index_;
};

}  // namespace

std::optional<std::vector<Copy>> find_copies_by_resync(BytesView source, BytesView target, const DeltaOptions& options) {
  return Finder(source, target, options).find();
}

}  // namespace dedup
