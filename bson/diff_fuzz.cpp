// Two documents, one behind the other: the second as a diff of the first, and the diff between them.
#include "bson/diff.h"
#include "bson/validate.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const base::BytesView bytes(reinterpret_cast<const char*>(data), size);
  const auto first = bson::validate(bytes);
  if (!first.ok()) return 0;
  const auto second = bson::validate(bytes.substr(first.value().size()));
  if (!second.ok()) return 0;
  const auto applied = bson::diff::apply(first.value(), second.value());
  if (applied.ok()) base::check(bson::validate(applied.value().bytes(), {.bytes_max = size_t{1} << 30}).ok());
  const auto diff = bson::diff::compute(first.value(), second.value());
  if (diff) base::check(bson::diff::apply(first.value(), *diff).value().bytes() == second.value().bytes());
  return 0;
}
