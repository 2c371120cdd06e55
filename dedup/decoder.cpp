#include "dedup/decoder.h"

#include <array>
#include <cstddef>
#include <memory_resource>
#include <span>
#include <vector>

#include "base/hash.h"
#include "dedup/delta.h"
#include "dedup/delta_chain.h"

namespace dedup {

namespace {

constexpr size_t chain_usual = 4;  // steps: these are kept on the stack

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

// The chain does not give what it should: where it goes wrong first.
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

base::Result<Bytes> decode(const ContentId& id, FormSource& forms, const DecodeLimits& limits, DecodeStats* stats) {
  alignas(std::max_align_t) std::array<std::byte, chain_usual * (sizeof(Step) + sizeof(DeltaLink))> usual;
  std::pmr::monotonic_buffer_resource memory(usual.data(), usual.size());
  std::pmr::vector<Step> chain(&memory);  // ends with the content that is whole
  chain.reserve(chain_usual);
  size_t chain_bytes = 0;
  for (ContentId at = id;;) {
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
  auto content = apply_chain(chain.back().form.view(), links, &budget);
  if (stats) stats->hops += static_cast<uint32_t>(links.size()), stats->chain_bytes += chain_bytes + budget.made_bytes;
  if (!content && budget.exceeded) return corrupt(id, id, "its chain is longer than a read may be");
  if (!content || !intact(*content, chain.front().form)) return first_damage(id, chain);
  return content;
}

}  // namespace dedup
