#include "storage/indexes/index_options.h"

#include "bson/builder.h"

namespace storage {
namespace {

bson::Builder without(bson::DocumentView document, std::string_view name) {
  bson::Builder out;
  for (const auto& field : document) {
    if (field.name != name) out.append_element(field);
  }
  return out;
}

}  // namespace

void set_expiry(IndexSpec& spec, int64_t seconds) {
  if (spec.expire_after_seconds == seconds) return;
  spec.expire_after_seconds = seconds;
  bson::Builder out = without(spec.document, "expireAfterSeconds");
  out.append("expireAfterSeconds", seconds);
  spec.document = out.done();
}

// The option is shown only if it is true, as for an index that was made with it.
void set_hidden(IndexSpec& spec, bool hidden) {
  if (spec.hidden == hidden) return;
  spec.hidden = hidden;
  bson::Builder out = without(spec.document, "hidden");
  if (hidden) out.append("hidden", true);
  spec.document = out.done();
}

void set_prepare_unique(IndexSpec& spec, bool prepares) {
  if (prepares_unique(spec) == prepares) return;
  bson::Builder out = without(spec.document, "prepareUnique");
  if (prepares) out.append("prepareUnique", true);
  spec.document = out.done();
}

void set_unique(IndexSpec& spec) {
  set_prepare_unique(spec, false);
  if (spec.unique) return;
  spec.unique = true;
  bson::Builder out;
  out.append_all(spec.document.view()).append("unique", true);
  spec.document = out.done();
}

bool prepares_unique(const IndexSpec& spec) {
  return spec.document.view()["prepareUnique"].truthy();
}

}  // namespace storage
