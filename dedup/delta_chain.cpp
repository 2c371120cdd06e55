#include "dedup/delta_chain.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <memory_resource>
#include <vector>

#include "base/varint.h"
#include "dedup/delta.h"

namespace dedup {

namespace {

using base::take_varint;

// A range is bytes of the content asked for that lie in the content below.
struct Range {
  uint32_t to;  // in the content asked for
  uint32_t at;  // in the content below
  uint32_t bytes;
};
using Ranges = std::pmr::vector<Range>;

// A piece is bytes of it that were found in a delta.
struct Literal {
  uint32_t to;
  uint32_t bytes;
  const char* from;
};
using Literals = std::pmr::vector<Literal>;

// The instructions of one delta, in the order of what they make.
struct Instructions {
  struct Piece {
    uint32_t start;       // in what it makes
    uint32_t at;          // in the content below; a literal: unused
    const char* literal;  // nullptr: a copy
  };
  std::pmr::vector<Piece> pieces;  // and one more entry, where the content ends

  enum class Result { done, too_many, damaged };
  Result parse(const DeltaLink& link, size_t base_bytes, size_t pieces_max);
};

// This checks all that `apply` checks.
Instructions::Result Instructions::parse(const DeltaLink& link, size_t base_bytes, size_t pieces_max) {
  pieces.clear();
  BytesView delta = link.delta;
  const auto length = take_varint(delta);
  if (!length || *length != link.content_bytes) return Result::damaged;
  size_t made = 0;
  uint64_t at = 0;
  while (made < *length) {
    if (pieces.size() > pieces_max) return Result::too_many;
    const auto insert = take_varint(delta);
    if (!insert || *insert > delta.size() || *insert > *length - made) return Result::damaged;
    if (*insert > 0) pieces.push_back({static_cast<uint32_t>(made), 0, delta.data()});
    delta.remove_prefix(*insert);
    made += *insert;
    if (made == *length) break;
    const auto bytes = take_varint(delta);
    const auto jump = bytes ? take_varint(delta) : std::nullopt;
    if (!jump) return Result::damaged;
    at += static_cast<uint64_t>(base::unzigzag(*jump));
    if (at > base_bytes || *bytes > base_bytes - at || *bytes > *length - made || (*bytes == 0 && *insert == 0))
      return Result::damaged;
    if (*bytes > 0) pieces.push_back({static_cast<uint32_t>(made), static_cast<uint32_t>(at), nullptr});
    at += *bytes;
    made += *bytes;
  }
  pieces.push_back({static_cast<uint32_t>(made), 0, nullptr});
  return delta.empty() ? Result::done : Result::damaged;
}

// Finds where the bytes `wanted` of a content lie, by its own delta.
void look_up(const Ranges& wanted, const Instructions& instructions, Ranges& below, Literals& literals) {
  below.clear();
  const auto& pieces = instructions.pieces;
  const Instructions::Piece* piece = pieces.data();  // ranges mostly follow each other
  Range open{0, 0, 0};
  for (Range range : wanted) {
    if (range.at < piece->start || range.at >= piece[1].start) {
      const auto behind =
          std::upper_bound(pieces.begin(), pieces.end() - 1, range.at, [](size_t at, const auto& one) { return at < one.start; });
      piece = &*behind - 1;
    }
    for (;; ++piece) {
      const uint32_t skip = range.at - piece->start;
      const uint32_t bytes = std::min(range.bytes, piece[1].start - range.at);
      if (piece->literal) {
        literals.push_back({range.to, bytes, piece->literal + skip});
      } else if (open.to + open.bytes == range.to && open.at + open.bytes == piece->at + skip) {
        open.bytes += bytes;
      } else {
        if (open.bytes > 0) below.push_back(open);
        open = {range.to, piece->at + skip, bytes};
      }
      if ((range.bytes -= bytes) == 0) break;
      range.to += bytes;
      range.at += bytes;
    }
  }
  if (open.bytes > 0) below.push_back(open);
}

// Links whose deltas are looked through together.
struct Run {
  size_t first;
  bool alone;     // applied as it is
  Ranges ranges;  // ranges of the content of `first`, in the content below the last
  Literals literals;

  void make(Bytes& out, BytesView below, size_t bytes) const {
    out.resize(bytes);
    for (const Range& range : ranges) std::memcpy(out.data() + range.to, below.data() + range.at, range.bytes);
    for (const Literal& literal : literals) std::memcpy(out.data() + literal.to, literal.from, literal.bytes);
  }
};

// Below so many ranges it is cheaper to look them up than to make the content.
size_t ranges_worth(size_t content_bytes) {
  return std::max<size_t>(16, content_bytes / 256);
}

base::Failure damaged(const std::string& what) {
  return {base::ErrorCode::data_corruption_detected, what};
}

std::optional<base::Failure> apply_link(Bytes& out, BytesView below, const DeltaLink& link) {
  if (auto failure = apply_to(out, below, link.delta, {.output_bytes_max = link.content_bytes})) return failure;
  if (out.size() != link.content_bytes) return damaged("damaged delta: length");
  return std::nullopt;
}

// Copying all of the contents together takes less time than looking through their deltas.
bool are_short(std::span<const DeltaLink> links, const ChainBudget* budget) {
  constexpr size_t bytes_max = 16 << 10;
  size_t bytes = 0;
  for (const DeltaLink& link : links) {
    if (link.content_bytes > bytes_max || (bytes += link.content_bytes) > bytes_max) return false;
  }
  if (!budget) return true;
  const size_t between = bytes - links.front().content_bytes;
  return between <= budget->made_bytes_max && budget->made_bytes <= budget->made_bytes_max - between;
}

std::optional<base::Failure> apply_each(Bytes& out, BytesView source, std::span<const DeltaLink> links, ChainBudget* budget) {
  thread_local Bytes spare;  // as short as the contents
  if (auto failure = apply_link(out, source, links.back())) return failure;
  for (size_t i = links.size() - 1; i-- > 0;) {
    if (budget) budget->made_bytes += links[i + 1].content_bytes;
    if (auto failure = apply_onto(out, links[i].delta, spare, {.output_bytes_max = links[i].content_bytes})) return failure;
    if (out.size() != links[i].content_bytes) return damaged("damaged delta: length");
  }
  return std::nullopt;
}

// First the place is found that every byte comes from.
std::optional<base::Failure> apply_looked_up(Bytes& out, BytesView source, std::span<const DeltaLink> links,
                                             ChainBudget* budget) {
  constexpr size_t few = 24;  // pieces and ranges: growing them costs more than the look-ups
  alignas(std::max_align_t) std::array<std::byte, 4096> usual;
  std::pmr::monotonic_buffer_resource memory(usual.data(), usual.size());
  std::pmr::vector<Run> runs(&memory);
  Instructions instructions{std::pmr::vector<Instructions::Piece>(&memory)};
  Ranges below(&memory);
  instructions.pieces.reserve(few);
  below.reserve(few);
  const auto begin_run = [&](size_t first, bool alone) -> Run& {
    Run& run = runs.emplace_back(first, alone, Ranges(&memory), Literals(&memory));
    if (alone) return run;
    run.ranges.reserve(few);
    run.literals.reserve(few);
    return run;
  };
  for (size_t i = 0; i < links.size(); ++i) {
    const size_t content_bytes = links[i].content_bytes;
    const size_t base_bytes = i + 1 < links.size() ? links[i + 1].content_bytes : source.size();
    if (content_bytes > UINT32_MAX || base_bytes > UINT32_MAX) return damaged("longer than a content may be");
    const size_t worth = ranges_worth(content_bytes);
    const auto parsed = instructions.parse(links[i], base_bytes, worth);
    if (parsed == Instructions::Result::damaged) return damaged("damaged delta");
    if (parsed == Instructions::Result::too_many || content_bytes == 0) {
      begin_run(i, true);
      continue;
    }
    if (runs.empty() || runs.back().alone || runs.back().ranges.size() + instructions.pieces.size() > worth) {
      begin_run(i, false).ranges.push_back({0, 0, static_cast<uint32_t>(content_bytes)});
    }
    Run& run = runs.back();
    look_up(run.ranges, instructions, below, run.literals);
    run.ranges.swap(below);
  }

  Bytes content, made;
  for (size_t r = runs.size(); r-- > 0;) {
    const Run& run = runs[r];
    const BytesView below = r + 1 == runs.size() ? source : BytesView(content);
    const size_t bytes = links[run.first].content_bytes;
    if (r > 0 && budget && (budget->made_bytes += bytes) > budget->made_bytes_max) {
      budget->exceeded = true;
      return damaged("the chain makes more than allowed");
    }
    Bytes& to = r == 0 ? out : made;
    if (!run.alone) {
      run.make(to, below, bytes);
    } else if (auto failure = apply_link(to, below, links[run.first])) {
      return failure;
    }
    if (r > 0) content.swap(made);
  }
  return std::nullopt;
}

}  // namespace

std::optional<base::Failure> apply_chain_to(Bytes& out, BytesView source, std::span<const DeltaLink> links, ChainBudget* budget) {
  if (links.empty()) {
    out = source;
    return std::nullopt;
  }
  if (links.size() == 1) return apply_link(out, source, links.front());
  return are_short(links, budget) ? apply_each(out, source, links, budget) : apply_looked_up(out, source, links, budget);
}

base::Result<Bytes> apply_chain(BytesView source, std::span<const DeltaLink> links, ChainBudget* budget) {
  Bytes out;
  if (auto failure = apply_chain_to(out, source, links, budget)) return std::move(*failure);
  return out;
}

}  // namespace dedup
