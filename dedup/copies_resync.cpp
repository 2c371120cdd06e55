// The default way to find copies, made for what revisions look like: common
// front and back, and a few small changes in between.
//
//   source  ======= abc ========== x ==================
//   target  ======= abbc ========= yz =================
//           prefix  ^ look around  ^ look around  suffix
//
// After a mismatch both sides are searched for the nearest place where they
// agree again. Where that fails, for text that moved or came from elsewhere, an
// index of the whole source is built, once and only then.
#include <algorithm>
#include <array>
#include <memory>

#include "dedup/copies.h"

namespace dedup {

namespace {

constexpr size_t around_bytes = 96;    // how far the look around goes
constexpr size_t match_bytes_min = 12; // shorter copies cost what they save
constexpr size_t key_bytes = 8;
constexpr int credit_max = 8;
constexpr size_t copies_unquestioned = 4096;
constexpr size_t shred_bytes = 24;

// Every n-th source position by a hash of the 8 bytes there; the last one wins.
class SourceIndex {
 public:
  explicit SourceIndex(BytesView source) {
    if (source.size() < key_bytes) return;
    const size_t stride = source.size() <= (64 << 10) ? 4 : source.size() <= (1 << 20) ? 8 : 16;
    const size_t places = source.size() / stride + 1;
    const int bits = std::max<int>(8, std::bit_width(places));
    shift_ = 64 - bits;
    positions_ = std::make_unique<uint32_t[]>(size_t{1} << bits);
    // Backwards, so that the first of equal places stays: copies then tend to follow each other.
    for (size_t at = (source.size() - key_bytes) / stride * stride;; at -= stride) {
      positions_[slot(source.data() + at)] = static_cast<uint32_t>(at + 1);
      if (at == 0) break;
    }
  }
  // A place that may hold the 8 bytes at `key`, plus one; 0: none.
  uint32_t find(const char* key) const { return positions_ ? positions_[slot(key)] : 0; }

 private:
  size_t slot(const char* key) const { return (base::load_le<uint64_t>(key) * 0x9e3779b97f4a7c15ull) >> shift_; }

  int shift_ = 0;
  std::unique_ptr<uint32_t[]> positions_;
};

class Finder {
 public:
  Finder(BytesView source, BytesView target, const DeltaOptions& options)
      : source_(source), target_(target), literal_bytes_max_(options.literal_bytes_max) {}

  std::optional<std::vector<Copy>> find() {
    const size_t shorter = std::min(source_.size(), target_.size());
    const size_t prefix = agree_forward(source_.data(), target_.data(), shorter);
    size_t suffix = agree_backward(source_.data() + source_.size(), target_.data() + target_.size(), shorter - prefix);
    if (suffix < match_bytes_min) suffix = 0;
    target_end_ = target_.size() - suffix;
    if (prefix >= match_bytes_min) emit({0, 0, prefix});

    at_ = emitted_;
    source_at_ = emitted_;
    while (at_ < target_end_) {
      if (credit_ > 0 && look_around()) continue;
      if (!look_up()) break;
      if (hopeless()) return std::nullopt;
    }
    if (literals_ + (target_end_ - emitted_) > literal_bytes_max_) return std::nullopt;
    if (suffix) emit({source_.size() - suffix, target_end_, suffix});
    return std::move(copies_);
  }

 private:
  // Nearest place where both sides agree again, a little behind where they parted.
  bool look_around() {
    const size_t source_end = std::min(source_at_ + around_bytes, source_.size());
    const size_t target_end = std::min(at_ + around_bytes, target_end_);
    if (source_at_ + match_bytes_min > source_end || at_ + match_bytes_min > target_end) {
      credit_ = 0;
      return false;
    }
    std::array<uint8_t, 256> places{};
    const auto slot = [](const char* p) { return base::load_le<uint32_t>(p) * 0x9e3779b1u >> 24; };
    // Backwards here too: of equal places the nearest stays.
    for (size_t s = source_end - 3; s-- > source_at_;)
      places[slot(source_.data() + s)] = static_cast<uint8_t>(s - source_at_ + 1);
    for (size_t t = at_; t + key_bytes <= target_end; ++t) {
      const uint8_t place = places[slot(target_.data() + t)];
      if (place && take(source_at_ + place - 1, t)) {
        credit_ = std::min(credit_ + 1, credit_max);
        return true;
      }
    }
    --credit_;
    return false;
  }

  // Next place whose bytes stand anywhere in the source; false: none, or given up.
  bool look_up() {
    if (!index_) index_ = std::make_unique<SourceIndex>(source_);
    // Where nothing is found steps grow; what is skipped comes back by matching backwards.
    for (size_t t = at_, misses = 0; t + key_bytes <= target_end_; t += 1 + (++misses >> 6)) {
      if (literals_ + (t - emitted_) > literal_bytes_max_) return false;
      const uint32_t place = index_->find(target_.data() + t);
      if (place && take(place - 1, t)) {
        if (copies_.back().bytes >= 48) credit_ = std::max(credit_, 2);
        return true;
      }
    }
    return false;
  }

  // Shreds: a great many copies that hardly save what it takes to write them.
  bool hopeless() const {
    return copies_.size() > copies_unquestioned && emitted_ - literals_ < copies_.size() * shred_bytes;
  }

  // A copy through (s, t) as long as it goes, if it is worth one.
  bool take(size_t s, size_t t) {
    const size_t after = agree_forward(source_.data() + s, target_.data() + t,
                                       std::min(source_.size() - s, target_end_ - t));
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
  }

  const BytesView source_;
  const BytesView target_;
  const size_t literal_bytes_max_;
  size_t target_end_ = 0;  // where the common back begins
  size_t at_ = 0;          // in the target: searched up to here
  size_t source_at_ = 0;   // in the source: where the last copy ended
  size_t emitted_ = 0;     // in the target: covered up to here
  size_t literals_ = 0;
  int credit_ = 4;         // look-arounds that may still fail in a row
  std::vector<Copy> copies_;
  std::unique_ptr<SourceIndex> index_;
};

}  // namespace

std::optional<std::vector<Copy>> find_copies_by_resync(BytesView source, BytesView target, const DeltaOptions& options) {
  return Finder(source, target, options).find();
}

}  // namespace dedup
