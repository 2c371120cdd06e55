// The input is two documents, one behind the other. The second is applied as a diff to the first, and the diff between them is
// computed. A diff that applies gives a document, and the diff of two documents leads from one to the other byte for byte.
#include "base/fuzz_target.h"
#include "bson/diff.h"
#include "bson/json.h"
#include "bson/validate.h"

namespace {

bool run(base::BytesView input) {
  const auto first = bson::validate(input);
  if (!first.ok()) return false;
  const auto second = bson::validate(input.substr(first.value().size()));
  if (!second.ok()) return false;
  const auto applied = bson::diff::apply(first.value(), second.value());
  if (applied.ok()) base::check(bson::validate(applied.value().bytes(), {.bytes_max = size_t{1} << 30}).ok());
  const auto diff = bson::diff::compute(first.value(), second.value());
  if (diff) {
    base::check(bson::diff::apply(first.value(), *diff).value().bytes() == second.value().bytes());
    base::check(bson::diff::filled(bson::diff::outline(*diff), second.value()).value().bytes() == diff->bytes());
  }
  (void)bson::diff::filled(second.value(), first.value());
  return true;
}

std::vector<base::Bytes> seeds() {
  const auto before = bson::json("{_id: 1, a: {b: 1, c: [1, 2, 3, {d: 4}]}, text: 'a text that stays', gone: true}");
  const auto after = bson::json("{_id: 1, a: {b: 2, c: [1, 5, {d: 4}]}, text: 'a text that stays', come: null}");
  const auto diff = bson::diff::compute(before.view(), after.view());
  base::check(diff.has_value());
  return {before.bytes() + after.bytes(), before.bytes() + diff->bytes()};
}

const base::FuzzTarget target("diff", run, seeds);

}  // namespace
