#include "dedup/decoder.h"

#include <vector>

#include "base/hash.h"
#include "dedup/delta.h"

namespace dedup {

namespace {

base::Failure corrupt(const ContentId& id, const ContentId& member, const std::string& what) {
  std::string message = "content " + to_string(id) + " does not decode: " + what;
  if (member != id) message += " (in its chain at " + to_string(member) + ")";
  return {base::ErrorCode::data_corruption_detected, message};
}

bool intact(BytesView content, const StoredForm& form) {
  return content.size() == form.raw_bytes && base::checksum32(content) == form.checksum;
}

}  // namespace

base::Result<Bytes> decode(const ContentId& id, FormSource& forms, const DecodeLimits& limits, DecodeStats* stats) {
  struct Step {
    ContentId id;
    StoredForm form;
  };
  std::vector<Step> chain;  // ends with the content that is whole
  size_t chain_bytes = 0;
  for (ContentId at = id;;) {
    auto form = forms.fetch_form(at);
    if (!form) return form.failure();
    if (form->raw_bytes > limits.output_bytes_max) return corrupt(id, at, "longer than allowed");
    chain_bytes += form->bytes.size() + (form->raw ? 0 : form->raw_bytes);
    if (chain_bytes > limits.chain_bytes_max) return corrupt(id, at, "its chain is longer than a read may be");
    chain.push_back({at, std::move(form).value()});
    if (chain.back().form.raw) break;
    if (chain.size() > limits.hops_max) return corrupt(id, at, "too many hops");
    const ContentId base = chain.back().form.base;
    if (!may_be_base(base, at)) return corrupt(id, at, "its base " + to_string(base) + " does not rank above it");
    at = base;
  }

  if (stats) stats->hops += static_cast<uint32_t>(chain.size() - 1), stats->chain_bytes += chain_bytes;
  Bytes content = std::move(chain.back().form.bytes);
  if (!intact(content, chain.back().form)) return corrupt(id, chain.back().id, "checksum");
  for (size_t i = chain.size() - 1; i-- > 0;) {
    const StoredForm& form = chain[i].form;
    auto made = apply(content, form.bytes, {.output_bytes_max = form.raw_bytes});
    if (!made) return corrupt(id, chain[i].id, made.failure().message);
    content = std::move(made).value();
    // Intermediate contents too: the first wrong one is the one to name.
    if (!intact(content, form)) return corrupt(id, chain[i].id, "checksum");
  }
  return content;
}

}  // namespace dedup
