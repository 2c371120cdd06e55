// The input is two documents, one behind the other. The second's values are the operations of a patch of the first, and of a
// document that isn't there; and the patch between the two is made. A patch is refused, doesn't fit or gives a document, and the
// patch of two documents leads from one to the other byte for byte.
#include "base/fuzz_target.h"
#include "bson/json.h"
#include "bson/json_patch.h"
#include "bson/validate.h"

namespace {

using bson::JsonPatch;

void check_outcome(const JsonPatch& patch, std::optional<bson::DocumentView> before) {
  base::refuses([&] {
    const JsonPatch::Outcome outcome = patch.apply(before);
    if (!outcome.mismatch && outcome.document) base::check(bson::validate(outcome.document->bytes()).ok());
  });
}

void check_way(std::optional<bson::DocumentView> before, std::optional<bson::DocumentView> after) {
  const bson::Document made = bson::json_patch_of(before, after);
  const JsonPatch::Outcome outcome = JsonPatch(made).apply(before);
  base::check(!outcome.mismatch && outcome.document.has_value() == after.has_value());
  if (after) base::check(outcome.document->bytes() == after->bytes());
}

bool run(base::BytesView input) {
  const auto first = bson::validate(input);
  if (!first.ok()) return false;
  const auto second = bson::validate(input.substr(first.value().size()));
  if (!second.ok()) return false;
  check_way(first.value(), second.value());
  check_way(std::nullopt, second.value());
  check_way(first.value(), std::nullopt);
  std::optional<JsonPatch> patch;
  if (base::refuses([&] { patch.emplace(second.value()); })) return true;
  check_outcome(*patch, first.value());
  check_outcome(*patch, std::nullopt);
  return true;
}

std::vector<base::Bytes> seeds() {
  const auto before = bson::json("{_id: 1, a: {b: 1, c: [1, 2, 3, {d: 4}]}, 'x/y~': [], gone: true}");
  const auto after = bson::json("{_id: 1, a: {b: 2, c: [1, 5, {d: 4}]}, 'x/y~': {'0': []}, come: null}");
  const auto all = bson::json(
      "{'0': {op: 'test', path: '/a/b', value: 1}, '1': {op: 'move', from: '/a/c/0', path: '/a/c/-'}, "
      "'2': {op: 'copy', from: '/a', path: '/e'}, '3': {op: 'replace', path: '/e/c', value: {}}, "
      "'4': {op: 'add', path: '/e/c/x~1y~0', value: 'x'}, '5': {op: 'remove', path: '/gone'}}");
  return {before.bytes() + after.bytes(), before.bytes() + bson::json_patch_of(before.view(), after.view()).bytes(),
          before.bytes() + all.bytes()};
}

const base::FuzzTarget target("json_patch", run, seeds);

}  // namespace
