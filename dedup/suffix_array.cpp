#include "dedup/suffix_array.h"

#include <algorithm>

namespace dedup {
namespace {

// A suffix is small (S) when it comes before the one that begins a place later. Those that are while the one before them
// isn't (LMS) are sorted first, as texts of a shorter alphabet; their order induces that of all others.
template <class Symbol>
class Sorting {
 public:
  Sorting(const Symbol* text, int32_t length, int32_t symbols) : text_(text), length_(length), small_(static_cast<size_t>(length)), begins_(static_cast<size_t>(symbols) + 1) {
    for (int32_t i = length - 2; i >= 0; --i) small_[at(i)] = text[i] < text[i + 1] || (text[i] == text[i + 1] && small_[at(i + 1)]);
    for (int32_t i = 0; i < length; ++i) ++begins_[at(static_cast<int32_t>(text[i])) + 1];
    for (size_t s = 1; s < begins_.size(); ++s) begins_[s] += begins_[s - 1];
  }

  std::vector<int32_t> sorted() {
    std::vector<int32_t> order(at(length_), -1);
    if (length_ == 0) return order;
    std::vector<int32_t> places;  // of LMS suffixes, as they lie
    for (int32_t i = 1; i < length_; ++i) {
      if (leftmost(i)) places.push_back(i);
    }
    induce(order, places);
    if (places.size() > 1) induce(order, by_rank(order, places));
    return order;
  }

 private:
  static size_t at(int32_t i) { return static_cast<size_t>(i); }
  bool leftmost(int32_t i) const { return i > 0 && small_[at(i)] && !small_[at(i - 1)]; }

  // The order of all suffixes from that of the LMS ones; of their beginnings, where those come as they lie.
  void induce(std::vector<int32_t>& order, const std::vector<int32_t>& places) const {
    std::fill(order.begin(), order.end(), -1);
    std::vector<int32_t> next(begins_.begin() + 1, begins_.end());
    for (auto i = places.rbegin(); i != places.rend(); ++i) order[at(--next[at(symbol(*i))])] = *i;
    std::copy(begins_.begin(), begins_.end() - 1, next.begin());
    const auto take_large = [&](int32_t i) {
      if (i > 0 && !small_[at(i - 1)]) order[at(next[at(symbol(i - 1))]++)] = i - 1;
    };
    take_large(length_);  // before the empty one
    for (int32_t i = 0; i < length_; ++i) take_large(order[at(i)]);
    std::copy(begins_.begin() + 1, begins_.end(), next.begin());
    for (int32_t i = length_ - 1; i >= 0; --i) {
      if (const int32_t j = order[at(i)]; j > 0 && small_[at(j - 1)]) order[at(--next[at(symbol(j - 1))])] = j - 1;
    }
  }

  // LMS suffixes in their order, given that of the pieces up to the next one each.
  std::vector<int32_t> by_rank(const std::vector<int32_t>& order, const std::vector<int32_t>& places) const {
    std::vector<int32_t> number(at(length_), -1);  // of a place among them
    for (size_t i = 0; i < places.size(); ++i) number[at(places[i])] = static_cast<int32_t>(i);
    std::vector<int32_t> ranks(places.size());
    int32_t rank = -1, before = -1;
    for (const int32_t i : order) {
      if (i < 0 || number[at(i)] < 0) continue;
      if (before < 0 || !same_piece(before, i, places, number)) ++rank;
      ranks[at(number[at(i)])] = rank;
      before = i;
    }
    std::vector<int32_t> sorted(places.size());
    if (rank + 1 == static_cast<int32_t>(places.size())) {
      for (size_t i = 0; i < places.size(); ++i) sorted[at(ranks[i])] = places[i];
      return sorted;
    }
    const std::vector<int32_t> inner = Sorting<int32_t>(ranks.data(), static_cast<int32_t>(ranks.size()), rank + 1).sorted();
    for (size_t i = 0; i < places.size(); ++i) sorted[i] = places[at(inner[i])];
    return sorted;
  }

  bool same_piece(int32_t a, int32_t b, const std::vector<int32_t>& places, const std::vector<int32_t>& number) const {
    const auto end = [&](int32_t i) {
      const size_t next = at(number[at(i)]) + 1;
      return next < places.size() ? places[next] : length_;
    };
    const int32_t a_end = end(a), b_end = end(b);
    // The last one ends in what is smaller than any symbol.
    if (a_end - a != b_end - b || a_end == length_ || b_end == length_) return false;
    return std::equal(text_ + a, text_ + a_end + 1, text_ + b);
  }

  int32_t symbol(int32_t i) const { return static_cast<int32_t>(text_[i]); }

  const Symbol* const text_;
  const int32_t length_;
  std::vector<bool> small_;
  std::vector<int32_t> begins_;  // of the suffixes that begin with a symbol
};

}  // namespace

std::vector<int32_t> suffix_array(base::BytesView text) {
  return Sorting<uint8_t>(reinterpret_cast<const uint8_t*>(text.data()), static_cast<int32_t>(text.size()), 256).sorted();
}

}  // namespace dedup
