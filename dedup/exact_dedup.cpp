#include "dedup/exact_dedup.h"

#include <xxhash.h>

#include "base/error.h"
#include "base/varint.h"

namespace dedup {

// recipe   varint  n << 1 | 0, then n literal bytes
//          varint  n << 1 | 1, then varint number of the first of n chunks

ExactDedup::Hash ExactDedup::hash(BytesView chunk) {
  const XXH128_hash_t hash = XXH3_128bits(chunk.data(), chunk.size());
  return {hash.low64, hash.high64};
}

BytesView ExactDedup::add(BytesView content) {
  ++stats_.contents;
  stats_.content_bytes += content.size();
  Bytes recipe;
  const auto number = static_cast<uint32_t>(recipes_.size());
  size_t literal_from = 0, begin = 0;
  uint32_t run_first = 0, run_chunks = 0;
  std::vector<uint32_t> fresh;  // new chunks within the literal that is being written

  auto end_literal = [&](size_t end) {
    if (literal_from == end) return;
    base::append_varint(recipe, (end - literal_from) << 1);
    for (const uint32_t chunk : fresh) chunks_[chunk].at += static_cast<uint32_t>(recipe.size());
    recipe.append(content.substr(literal_from, end - literal_from));
    fresh.clear();
  };
  auto end_run = [&] {
    if (run_chunks == 0) return;
    base::append_varint(recipe, uint64_t{run_chunks} << 1 | 1);
    base::append_varint(recipe, run_first);
    run_chunks = 0;
  };

  for (const size_t end : cut(content, method_, average_bytes_)) {
    if (end == begin) continue;
    const BytesView chunk = content.substr(begin, end - begin);
    ++stats_.chunks;
    const auto [found, is_new] = index_.try_emplace(hash(chunk), static_cast<uint32_t>(chunks_.size()));
    if (is_new) {
      if (run_chunks > 0) {
        end_run();
        literal_from = begin;
      }
      fresh.push_back(static_cast<uint32_t>(chunks_.size()));
      chunks_.push_back({number, static_cast<uint32_t>(begin - literal_from), static_cast<uint32_t>(chunk.size())});
      ++stats_.unique_chunks;
    } else {
      if (run_chunks == 0) end_literal(begin);
      if (run_chunks > 0 && found->second != run_first + run_chunks) end_run();
      if (run_chunks == 0) run_first = found->second;
      ++run_chunks;
    }
    begin = end;
  }
  if (run_chunks > 0)
    end_run();
  else
    end_literal(content.size());
  stats_.stored_bytes += recipe.size();
  return recipes_.emplace_back(std::move(recipe));
}

Bytes ExactDedup::content(size_t number) const {
  Bytes content;
  BytesView recipe = recipes_.at(number);
  while (!recipe.empty()) {
    const uint64_t head = base::take_varint(recipe).value();
    const uint64_t count = head >> 1;
    if ((head & 1) == 0) {
      content.append(recipe.substr(0, count));
      recipe.remove_prefix(count);
      continue;
    }
    const uint64_t first = base::take_varint(recipe).value();
    for (uint64_t i = first; i < first + count; ++i) {
      const Chunk& chunk = chunks_.at(i);
      content.append(recipes_[chunk.recipe], chunk.at, chunk.bytes);
    }
  }
  return content;
}

}  // namespace dedup
