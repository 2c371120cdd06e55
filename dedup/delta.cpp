#include "dedup/delta.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/varint.h"
#include "dedup/copies.h"

namespace dedup {

using base::take_varint;

std::optional<std::vector<Copy>> find_copies(BytesView source, BytesView target, const DeltaOptions& options) {
  switch (options.method) {
    case DeltaMethod::resync: return find_copies_by_resync(source, target, options);
    case DeltaMethod::anchors: return find_copies_by_anchors(source, target, options);
  }
  return std::nullopt;
}

namespace {

char* put_varint(char* to, uint64_t value) {
  while (value >= 0x80) {
    *to++ = static_cast<char>(value | 0x80);
    value >>= 7;
  }
  *to++ = static_cast<char>(value);
  return to;
}

}  // namespace

Bytes write_delta(BytesView target, const std::vector<Copy>& copies) {
  // A copy usually goes on where the last one ended.
  const auto jump = [](const Copy& copy, size_t expected) {
    return base::zigzag(static_cast<int64_t>(copy.source_at) - static_cast<int64_t>(expected));
  };
  size_t bytes = base::varint_bytes(target.size()), written = 0, expected = 0;
  for (const Copy& copy : copies) {
    const size_t insert = copy.target_at - written;
    bytes += base::varint_bytes(insert) + insert + base::varint_bytes(copy.bytes) + base::varint_bytes(jump(copy, expected));
    expected = copy.source_at + copy.bytes;
    written = copy.target_at + copy.bytes;
  }
  if (const size_t insert = target.size() - written) bytes += base::varint_bytes(insert) + insert;

  Bytes out(bytes, '\0');
  char* to = put_varint(out.data(), target.size());
  const auto put_insert = [&](size_t insert) {
    to = put_varint(to, insert);
    std::memcpy(to, target.data() + written, insert);
    to += insert;
  };
  written = expected = 0;
  for (const Copy& copy : copies) {
    put_insert(copy.target_at - written);
    to = put_varint(to, copy.bytes);
    to = put_varint(to, jump(copy, expected));
    expected = copy.source_at + copy.bytes;
    written = copy.target_at + copy.bytes;
  }
  if (written < target.size()) put_insert(target.size() - written);
  return out;
}

namespace {

// Usually nothing moved; where a great deal did, comparing takes longest.
void sort_by_target(std::vector<Copy>& copies) {
  constexpr size_t many = 2048;
  constexpr int digit_bits = 11;
  const auto before = [](const Copy& a, const Copy& b) {
    return a.target_at != b.target_at ? a.target_at < b.target_at : a.bytes > b.bytes;
  };
  if (std::is_sorted(copies.begin(), copies.end(), before)) return;
  if (copies.size() < many) return std::sort(copies.begin(), copies.end(), before);
  size_t highest = 0;
  for (const Copy& copy : copies) highest = std::max(highest, copy.target_at);
  std::vector<Copy> sorted(copies.size());
  for (int shift = 0; highest >> shift; shift += digit_bits) {
    const auto digit = [shift](const Copy& copy) { return (copy.target_at >> shift) & ((1u << digit_bits) - 1); };
    std::array<size_t, size_t{1} << digit_bits> places{};
    for (const Copy& copy : copies) ++places[digit(copy)];
    for (size_t place = 0; size_t & count : places) place += std::exchange(count, place);
    for (const Copy& copy : copies) sorted[places[digit(copy)]++] = copy;
    copies.swap(sorted);
  }
}

}  // namespace

std::vector<Copy> turned_around(std::vector<Copy> copies) {
  for (Copy& copy : copies) std::swap(copy.source_at, copy.target_at);
  sort_by_target(copies);
  // Bytes that were copied twice are covered twice here: the later copy loses its front.
  constexpr size_t bytes_min = 4;
  size_t kept = 0, covered = 0;
  for (Copy copy : copies) {
    if (copy.target_at < covered) {
      const size_t cut = covered - copy.target_at;
      if (copy.bytes < cut + bytes_min) continue;
      copy = {copy.source_at + cut, copy.target_at + cut, copy.bytes - cut};
    }
    covered = copy.target_at + copy.bytes;
    copies[kept++] = copy;
  }
  copies.resize(kept);
  return copies;
}

std::optional<Bytes> encode(BytesView source, BytesView target, const DeltaOptions& options) {
  auto copies = find_copies(source, target, options);
  if (!copies) return std::nullopt;
  return write_delta(target, *copies);
}

std::optional<TwoWay> encode_two_way(BytesView source, BytesView target, const DeltaOptions& options) {
  auto copies = find_copies(source, target, options);
  if (!copies) return std::nullopt;
  TwoWay both;
  both.forward = write_delta(target, *copies);
  // Copies may overlap in the source, so at least this much is left to insert there.
  size_t copied = 0;
  for (const Copy& copy : *copies) copied += copy.bytes;
  if (source.size() > copied && source.size() - copied > options.backward_bytes_max) return both;
  both.backward = write_delta(source, turned_around(std::move(*copies)));
  if (both.backward.size() > options.backward_bytes_max) both.backward.clear();
  return both;
}

namespace {

// A varint that is cut short reads as this, which is larger than any length.
constexpr uint64_t cut_short = ~uint64_t{0};

[[gnu::always_inline]] inline uint64_t next_varint(const char*& at, const char* end) {
  uint64_t value;
  return base::next_varint(at, end, value) ? value : cut_short;
}

// Walks through the instructions and hands them over one by one. Returns what is wrong with them, or null. It checks that
// there is nothing but complete instructions, all within source and target and none without effect, which make exactly the
// target.
template <class Insert, class Copied>
[[gnu::always_inline]] inline const char* walk(BytesView source, BytesView instructions, uint64_t target_bytes, Insert on_insert,
                                               Copied on_copy) {
  const char* at = instructions.data();
  const char* const end = at + instructions.size();
  uint64_t made = 0, from = 0;
  while (made < target_bytes) {
    const uint64_t insert = next_varint(at, end);
    if (insert > static_cast<uint64_t>(end - at) || insert > target_bytes - made) return "insert";
    on_insert(at, insert);
    at += insert;
    made += insert;
    if (made == target_bytes) break;

    const uint64_t bytes = next_varint(at, end);
    const uint64_t jump = next_varint(at, end);
    from += static_cast<uint64_t>(base::unzigzag(jump));  // wraps are caught by the range check
    if (from > source.size() || bytes > source.size() - from || bytes > target_bytes - made) return "copy";
    if (bytes == 0 && insert == 0) return "instruction without effect";
    on_copy(source.data() + from, bytes);
    from += bytes;
    made += bytes;
  }
  return at == end ? nullptr : "bytes after the end";
}

// The call is most of the cost of copying a few bytes, so more is copied than is wanted where both sides have
// room.
[[gnu::always_inline]] inline char* copy_bytes(char* to, const char* to_end, const char* from, const char* from_end,
                                               size_t bytes) {
  constexpr size_t block = 32;
  if (bytes <= block && to_end - to >= static_cast<ptrdiff_t>(block) && from_end - from >= static_cast<ptrdiff_t>(block)) {
    std::memcpy(to, from, block);
  } else if (bytes > 0) {  // an empty content may have no address
    std::memcpy(to, from, bytes);
  }
  return to + bytes;
}

}  // namespace

std::optional<base::Failure> apply_to(Bytes& out, BytesView source, BytesView delta, const DeltaLimits& limits) {
  const auto damaged = [](const char* what) {
    return base::Failure{base::ErrorCode::data_corruption_detected, std::string("damaged delta: ") + what};
  };
  const auto target_bytes = take_varint(delta);
  if (!target_bytes) return damaged("no length");
  if (*target_bytes > limits.output_bytes_max) return damaged("makes more than allowed");
  // A false length must not cost memory before there are instructions to back it.
  if (*target_bytes > 2 * (source.size() + delta.size()))
    if (const char* wrong = walk(
            source, delta, *target_bytes, [](auto...) {}, [](auto...) {}))
      return damaged(wrong);

  out.resize(*target_bytes);
  char* to = out.data();
  const char* const to_end = to + out.size();
  const char* wrong = walk(
      source, delta, *target_bytes,
      [&](const char* from, size_t bytes) { to = copy_bytes(to, to_end, from, delta.data() + delta.size(), bytes); },
      [&](const char* from, size_t bytes) { to = copy_bytes(to, to_end, from, source.data() + source.size(), bytes); });
  return wrong ? std::optional(damaged(wrong)) : std::nullopt;
}

namespace {

// A delta applied within the content's own bytes, where pieces keep their order. A piece that moves up covers only bytes behind
// it that move up as well; one that moves down covers only such bytes in front of it.
class Moves {
 public:
  // Returns false when the delta is damaged, has too many pieces, or pieces out of order.
  bool read(BytesView content, BytesView instructions, uint64_t target_bytes) {
    const char* const begin = content.data();
    size_t made = 0, behind = 0;
    bool fit = true;
    const char* const wrong = walk(
        content, instructions, target_bytes,
        [&](const char* from, size_t bytes) {
          if (bytes == 0) return;
          if (literals_ < pieces_max)
            literal_[literals_++] = {from, made, bytes};
          else
            fit = false;
          made += bytes;
        },
        [&](const char* from, size_t bytes) {
          const auto at = static_cast<size_t>(from - begin);
          fit = fit && at >= behind;
          behind = at + bytes;
          if (at != made && copies_ < pieces_max)
            copy_[copies_++] = {at, made, bytes};
          else
            fit = fit && at == made;
          made += bytes;
        });
    return !wrong && fit;
  }

  void make(Bytes& content, size_t target_bytes) const {
    if (target_bytes > content.size()) content.resize(target_bytes);
    char* const begin = content.data();
    for (size_t i = copies_; i-- > 0;) {
      if (copy_[i].to > copy_[i].at) std::memmove(begin + copy_[i].to, begin + copy_[i].at, copy_[i].bytes);
    }
    for (size_t i = 0; i < copies_; ++i) {
      if (copy_[i].to < copy_[i].at) std::memmove(begin + copy_[i].to, begin + copy_[i].at, copy_[i].bytes);
    }
    for (size_t i = 0; i < literals_; ++i) std::memcpy(begin + literal_[i].to, literal_[i].from, literal_[i].bytes);
    content.resize(target_bytes);
  }

 private:
  static constexpr size_t pieces_max = 32;
  struct Copied {
    size_t at, to, bytes;
  };
  struct Literal {
    const char* from;
    size_t to, bytes;
  };
  std::array<Copied, pieces_max> copy_;  // the first `copies_` are the pieces that move
  std::array<Literal, pieces_max> literal_;
  size_t copies_ = 0, literals_ = 0;
};

}  // namespace

std::optional<base::Failure> apply_onto(Bytes& content, BytesView delta, Bytes& spare, const DeltaLimits& limits) {
  BytesView instructions = delta;
  const auto target_bytes = take_varint(instructions);
  // A false length must not cost memory; `apply_to` looks closer.
  if (target_bytes && *target_bytes <= std::min(limits.output_bytes_max, content.size() + delta.size())) {
    Moves moves;
    if (moves.read(content, instructions, *target_bytes)) {
      moves.make(content, *target_bytes);
      return std::nullopt;
    }
  }
  if (auto failure = apply_to(spare, content, delta, limits)) return failure;
  content.swap(spare);
  return std::nullopt;
}

base::Result<Bytes> apply(BytesView source, BytesView delta, const DeltaLimits& limits) {
  Bytes out;
  if (auto failure = apply_to(out, source, delta, limits)) return std::move(*failure);
  return out;
}

bool makes(BytesView source, BytesView delta, BytesView target) {
  const auto bytes = take_varint(delta);
  if (bytes != target.size()) return false;
  const char* at = target.data();
  bool same = true;
  const auto compare = [&](const char* from, size_t piece) {
    same = same && std::memcmp(at, from, piece) == 0;
    at += piece;
  };
  return !walk(source, delta, *bytes, compare, compare) && same;
}

std::optional<size_t> target_bytes(BytesView delta) {
  const auto bytes = take_varint(delta);
  return bytes ? std::optional<size_t>(*bytes) : std::nullopt;
}

}  // namespace dedup
