// Any document is taken as a selection, and any bytes as the metadata of a commit that may say one. It is refused as an operation
// is, or its own document is read as the same selection.
#include "versions/database/selection.h"

#include "base/fuzz_target.h"
#include "bson/json.h"
#include "bson/validate.h"

namespace {

using namespace versions;
using base::check;

bool check_selection(bson::DocumentView fields) {
  std::optional<Selection> selection;
  if (base::refuses([&] { selection = read_selection(fields); })) return false;
  for (const auto& [name, filter] : selection->filters) {
    check(selection->collections.contains(name), "a filter's collection is selected");
    check(!filter.empty() && bson::validate(filter.bytes()).ok(), "a filter is a document");
  }
  check(read_selection(selection->document()) == *selection, "a selection is read as it was written");
  return true;
}

bool check_metadata(base::BytesView metadata) {
  std::optional<Selection> selection;
  if (base::refuses([&] { selection = selection_of(metadata); }) || !selection) return false;
  bson::Builder again;
  again.append(made_from, selection->document());
  const bson::Document written = again.done();
  check(selection_of(written.bytes()) == selection, "a commit says the selection that it was made with");
  return true;
}

bool run(base::BytesView input) {
  const bool from_metadata = check_metadata(input);
  const auto document = bson::validate(input);
  return (document.ok() && check_selection(document.value())) || from_metadata;
}

std::vector<base::Bytes> seeds() {
  std::vector<base::Bytes> out;
  for (const char* text :
       {"{collections: ['pages', 'authors'], filter: {pages: {lang: 'de'}, notes: {}}}", "{filter: {a: {b: 1}}}",
        "{collections: null, filter: null}", "{madeFrom: {collections: ['a']}, author: 'ann'}"}) {
    out.push_back(bson::json(text).bytes());
  }
  return out;
}

const base::FuzzTarget target("selection", run, seeds);

}  // namespace
