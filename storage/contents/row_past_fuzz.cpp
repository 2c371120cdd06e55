// This target parses a list of pre-states in a record's row. All readers refuse it, or all read the same and write back the
// same list; each pre-state is made with its checksum or refused.
//
//   number: the row's own generation | part: its content | rest: the list
#include "base/fuzz_target.h"
#include "base/hash.h"
#include "dedup/delta.h"
#include "storage/contents/row_past.h"

namespace {

using namespace storage;

Bytes written(const RowPreStates& all, Stamp above) {
  Bytes list;
  for (size_t i = 0; i < all.size(); above = all[i++].generation) append_pre_state(list, above, all[i]);
  return list;
}

bool run(BytesView input) {
  base::FuzzReader reader(input);
  const Stamp above = reader.number();
  const BytesView own = reader.part(), list = reader.rest();
  const auto all = RowPreStates::parse(list, above);
  const auto summary = PreStateSummary::of(list, above);
  base::check(all.ok() == summary.ok());
  PreStateSearch search;
  Bytes content;
  for (const Stamp newest : {above, above / 2, Stamp{0}}) {
    const auto found = search.find(list, above, newest);
    if (!found.ok() || found.value() == 0) continue;
    base::check(found.value() <= newest && found.value() < above);
    search.make(own, content);
  }
  if (!all.ok()) return false;
  base::check(summary.value().count == all.value().size());
  const Bytes once = written(all.value(), above);
  const auto again = RowPreStates::parse(once, above);
  base::check(again.ok() && written(again.value(), above) == once && again.value().size() == all.value().size());
  return true;
}

std::vector<Bytes> seeds() {
  constexpr Stamp now = Stamp{1'710'000'000} << 32 | 3;
  const Bytes own = "the content of a row, as it is now", before = "the content of a row, as it was before",
              first = "the content of a row, as it was at first";
  const Bytes to_before = dedup::encode(own, before).value(), to_first = dedup::encode(before, first).value();
  Bytes list;
  append_pre_state(list, now,
                   {.generation = now - 2, .length = before.size(), .checksum = base::checksum32(before), .delta = to_before});
  const Bytes one = list;
  append_pre_state(
      list, now - 2,
      {.generation = now - (Stamp{50} << 32), .length = first.size(), .checksum = base::checksum32(first), .delta = to_first});
  const auto seed = [&](const Bytes& states) { return base::FuzzWriter().number(now).part(own).rest(states); };
  return {seed({}), seed(one), seed(list)};
}

const base::FuzzTarget target("row_past", run, seeds);

}  // namespace
