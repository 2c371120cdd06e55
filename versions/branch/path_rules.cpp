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

std::vector<ValueView> elements(const ValueView& array) {
  std::vector<ValueView> all;
  if (!array.exists()) return all;
  for (const bson::Element& element : array.as_document()) all.push_back(element);
  return all;
}

using Values = std::set<ValueView, bson::ValueLess>;

bool begins_with(const std::vector<ValueView>& all, const std::vector<ValueView>& first) {
  return first.size() <= all.size() && std::equal(first.begin(), first.end(), all.begin(),
                                                  [](const ValueView& a, const ValueView& b) { return a.identical(b); });
}

Value united(const std::vector<ValueView>& base, const std::vector<ValueView>& ours, const std::vector<ValueView>& theirs) {
  const Values before(base.begin(), base.end()), other(theirs.begin(), theirs.end());
  Values shown(ours.begin(), ours.end());
  bson::ArrayBuilder out;
  for (const ValueView& one : ours) {
    if (!before.contains(one) || other.contains(one)) out.append(one);
  }
  for (const ValueView& one : theirs) {
    if (!before.contains(one) && shown.insert(one).second) out.append(one);
  }
  return out.done_value();
}

Value appended(const std::vector<ValueView>& base, const std::vector<ValueView>& ours, const std::vector<ValueView>& theirs) {
  if (!begins_with(ours, base) || !begins_with(theirs, base)) return {};
  bson::ArrayBuilder out;
  for (const ValueView& one : ours) out.append(one);
  for (size_t i = base.size(); i < theirs.size(); ++i) out.append(theirs[i]);
  return out.done_value();
}

}  // namespace

Value put_together(PathRule::Kind kind, const ValueView& base, const ValueView& ours, const ValueView& theirs) {
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
  if (kind == Kind::union_) return united(elements(base), elements(ours), elements(theirs));
  if (kind == Kind::append) return appended(elements(base), elements(ours), elements(theirs));
  return {};
}

}  // namespace versions
