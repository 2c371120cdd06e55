#include "dedup/decoder.h"

#include <array>
#include <cstddef>
#include <memory_resource>
#include <span>
#include <vector>

#include "base/hash.h"
#include "dedup/delta.h"
#include "dedup/delta_chain.h"
#include "dedup/hop_base_cache.h"

namespace dedup {

namespace {

constexpr size_t chain_usual = 4;  // so many steps are kept on the stack

base::Failure corrupt(const ContentId& id, const ContentId& member, const std::string& what) {
  std::string message = "content " + to_string(id) + " does not decode: " + what;
  if (member != id) message += " (in its chain at " + to_string(member) + ")";
  return {base::ErrorCode::data_corruption_detected, message};
}

bool intact(BytesView content, const StoredForm& form) {
  return content.size() == form.raw_bytes && base::checksum32(content) == form.checksum;
}

struct Step {
  ContentId id;
  StoredForm form;
};

// With fewer hops, or smaller deltas, a content in memory isn't worth its room.
constexpr size_t hops_worth_caching = 4;
constexpr size_t delta_bytes_worth_caching = 1024;

// Returns the hop base furthest from the content asked for that has three quarters of all deltas' bytes behind it; 0 when none is
// worth keeping. Deltas of hop bases are longer than those before them, as they span more versions.
size_t hop_base_to_cache(std::span<const DeltaLink> links) {
  size_t all = 0, found = 0, before = 0, longest = 0;
  for (const DeltaLink& link : links) all += link.delta.size();
  for (size_t i = 0; i + hops_worth_caching <= links.size() && before * 4 <= all; ++i) {
    const size_t bytes = links[i].delta.size();
    if (i > 0 && bytes >= 2 * longest && all - before >= delta_bytes_worth_caching) found = i;
    longest = std::max(longest, bytes);
    before += bytes;
  }
  return found;
}

// The chain doesn't give the content that it should: finds where it goes wrong first.
base::Failure first_damage(const ContentId& id, std::span<const Step> chain) {
  Bytes content(chain.back().form.view());
  if (!intact(content, chain.back().form)) return corrupt(id, chain.back().id, "checksum");
  for (size_t i = chain.size() - 1; i-- > 0;) {
    const StoredForm& form = chain[i].form;
    auto made = apply(content, form.view(), {.output_bytes_max = form.raw_bytes});
    if (!made) return corrupt(id, chain[i].id, made.failure().message);
    content = std::move(made).value();
    if (!intact(content, form)) return corrupt(id, chain[i].id, "checksum");
  }
  return corrupt(id, id, "checksum");
}

}  // namespace

base::Result<Bytes> decode(const ContentId& id, FormSource& forms, const DecodeLimits& limits, DecodeStats* stats,
                           HopBaseCache* cache) {
  alignas(std::max_align_t) std::array<std::byte, chain_usual*(sizeof(Step) + sizeof(DeltaLink))> usual;
  std::pmr::monotonic_buffer_resource memory(usual.data(), usual.size());
  std::pmr::vector<Step> chain(&memory);  // ends with the content that is kept whole
  chain.reserve(chain_usual);
  size_t chain_bytes = 0;
  std::shared_ptr<const HopBaseCache::Decoded> cached;
  for (ContentId at = id;;) {
    if (cache && !chain.empty() && (cached = cache->find(at))) {
      StoredForm whole;
      whole.borrowed = cached->content;
      chain.push_back({at, std::move(whole)});
      break;
    }
    auto form = forms.fetch_form(at);
    if (!form) return form.failure();
    if (form->raw_bytes > limits.output_bytes_max) return corrupt(id, at, "longer than allowed");
    chain_bytes += form->view().size();
    if (chain_bytes > limits.chain_bytes_max) return corrupt(id, at, "its chain is longer than a read may be");
    chain.push_back({at, std::move(form).value()});
    if (chain.back().form.raw) break;
    if (chain.size() > limits.hops_max) return corrupt(id, at, "too many hops");
    const ContentId base = chain.back().form.base;
    if (!may_be_base(base, at)) return corrupt(id, at, "its base " + to_string(base) + " does not rank above it");
    at = base;
  }

  std::pmr::vector<DeltaLink> links(&memory);
  links.reserve(chain.size() - 1);
  for (size_t i = 0; i + 1 < chain.size(); ++i) links.push_back({chain[i].form.view(), chain[i].form.raw_bytes});
  ChainBudget budget{.made_bytes_max = limits.chain_bytes_max - chain_bytes};
  BytesView source = chain.back().form.view();
  std::span<const DeltaLink> left = links;
  HopBaseCache::Decoded hop_base{};
  const size_t kept = cache ? hop_base_to_cache(links) : 0;
  if (kept > 0 && cache->keeps(links[kept].content_bytes)) {
    const ChainBudget unused = budget;
    if (!apply_chain_to(hop_base.content, source, left.subspan(kept), &budget) && intact(hop_base.content, chain[kept].form)) {
      source = hop_base.content;
      left = left.first(kept);
    } else {
      budget = unused;
    }
  }
  auto content = apply_chain(source, left, &budget);
  const uint32_t hops_behind = cached ? cached->hops : 0;
  const size_t bytes_behind = cached ? cached->chain_bytes : chain.back().form.view().size();
  if (stats) {
    stats->hops += static_cast<uint32_t>(links.size()) + hops_behind;
    stats->chain_bytes += chain_bytes + budget.made_bytes + (cached ? bytes_behind : 0);
  }
  if (!content && budget.exceeded) return corrupt(id, id, "its chain is longer than a read may be");
  const bool right = content && intact(*content, chain.front().form);
  if (!right && cached) {
    cache->forget(chain.back().id);
    return corrupt(id, chain.back().id, "checksum, from the hop base that was cached on");
  }
  if (!right) return first_damage(id, chain);
  if (left.size() < links.size()) {
    hop_base.hops = static_cast<uint32_t>(links.size() - kept) + hops_behind;
    hop_base.chain_bytes = bytes_behind;
    for (size_t i = kept; i < links.size(); ++i) hop_base.chain_bytes += links[i].delta.size();
    cache->put(chain[kept].id, std::move(hop_base));
  }
  return content;
}

}  // namespace dedup
