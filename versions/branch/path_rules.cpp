#include "versions/branch/path_rules.h"

#include <algorithm>
#include <set>
#include <vector>

#include "bson/arithmetic.h"
#include "bson/builder.h"
#include "bson/compare.h"

namespace versions {

namespace {

using bson::Value;
using bson::ValueView;

// The elements of an array, which is missing or an array.
std::vector<ValueView> elements(const ValueView& array, Pace& pace, KeptBytes& kept) {
  std::vector<ValueView> all;
  if (!array.exists()) return all;
  for (const bson::Element& element : array.as_document()) {
    pace.step();
    kept.add(kept_place_bytes);
    all.push_back(element);
  }
  return all;
}

using Values = std::set<ValueView, PacedLess>;

Values values_of(const std::vector<ValueView>& all, Pace& pace, KeptBytes& kept) {
  kept.add(all.size() * kept_node_bytes);
  return Values(all.begin(), all.end(), PacedLess{&pace});
}

void append(bson::ArrayBuilder& out, const ValueView& value, Pace& pace) {
  pace.step(value.bytes().size());
  out.append(value);
}

bool begins_with(const std::vector<ValueView>& all, const std::vector<ValueView>& first, Pace& pace) {
  return first.size() <= all.size() &&
         std::equal(first.begin(), first.end(), all.begin(), [&](const ValueView& a, const ValueView& b) {
           pace.step(a.bytes().size());
           return a.identical(b);
         });
}

Value united(const std::vector<ValueView>& base, const std::vector<ValueView>& ours, const std::vector<ValueView>& theirs,
             Pace& pace, KeptBytes& kept) {
  const Values before = values_of(base, pace, kept), other = values_of(theirs, pace, kept);
  Values shown = values_of(ours, pace, kept);
  bson::ArrayBuilder out;
  for (const ValueView& one : ours) {
    if (!before.contains(one) || other.contains(one)) append(out, one, pace);
  }
  kept.add(theirs.size() * kept_node_bytes);
  for (const ValueView& one : theirs) {
    if (!before.contains(one) && shown.insert(one).second) append(out, one, pace);
  }
  return out.done_value();
}

Value appended(const std::vector<ValueView>& base, const std::vector<ValueView>& ours, const std::vector<ValueView>& theirs,
               Pace& pace) {
  if (!begins_with(ours, base, pace) || !begins_with(theirs, base, pace)) return {};
  bson::ArrayBuilder out;
  for (const ValueView& one : ours) append(out, one, pace);
  for (size_t i = base.size(); i < theirs.size(); ++i) append(out, theirs[i], pace);
  return out.done_value();
}

}  // namespace

Value put_together(PathRule::Kind kind, const ValueView& base, const ValueView& ours, const ValueView& theirs, Pace& pace) {
  using Kind = PathRule::Kind;
  if (kind == Kind::max || kind == Kind::min) {
    if (!ours.exists() || !theirs.exists()) return {};
    const int order = bson::compare(ours, theirs);
    return Value(kind == Kind::max ? (order >= 0 ? ours : theirs) : (order <= 0 ? ours : theirs));
  }
  if (kind == Kind::sum) {
    const auto number = [](const ValueView& value) { return value.is_number(); };
    if (!number(ours) || !number(theirs) || (base.exists() && !number(base))) return {};
    return bson::number::add(ours, base.exists() ? bson::number::subtract(theirs, base) : Value(theirs));
  }
  for (const ValueView* side : {&base, &ours, &theirs}) {
    if (side->exists() && !side->is_array()) return {};
  }
  if (!ours.exists() || !theirs.exists()) return {};
  if (kind != Kind::union_ && kind != Kind::append) return {};
  KeptBytes kept = pace.nothing_kept();
  const auto before = elements(base, pace, kept), mine = elements(ours, pace, kept), other = elements(theirs, pace, kept);
  return kind == Kind::union_ ? united(before, mine, other, pace, kept) : appended(before, mine, other, pace);
}

}  // namespace versions
