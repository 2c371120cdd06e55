#include "server/query/plan/wildcard.h"

#include <algorithm>
#include <set>

#include "bson/path.h"
#include "server/core/allowance.h"
#include "server/query/field_path.h"
#include "server/query/match/array.h"
#include "server/query/match/comparison.h"
#include "server/query/plan/plan_bytes.h"
#include "storage/indexes/wildcard_index.h"

namespace server::query::plan {

namespace {

using match::Kind;
using match::Node;

constexpr size_t positions_max = 8;  // as in MongoDB

// MongoDB compares no more plans for one query. Each looks at all predicates, so their number must not grow with those.
constexpr size_t scans_max = 64;

// KeyPaths are the paths that entries may have for the path of a query.
class KeyPaths {
 public:
  KeyPaths(const storage::Index& index, std::string_view path) : index_(index), parts_(bson::split_path(path)) {
    refused_ = parts_.size() > field_path_parts_max;  // no document has a value there
    if (!refused_) step(0, std::string());
  }

  // Returns whether the index can be asked: it has all these paths, and there aren't too many.
  bool usable() const {
    const storage::WildcardIndex& wildcard = *index_.spec().wildcard;
    return !refused_ && std::all_of(paths_.begin(), paths_.end(), [&](const std::string& path) { return wildcard.has(path); });
  }
  // The arrays on the way are among them: an array within such an array is an entry of that path.
  std::vector<std::string> with_arrays() const {
    std::set<std::string> all = paths_;
    all.insert(nested_.begin(), nested_.end());
    return {all.begin(), all.end()};
  }
  bool nested() const { return !nested_.empty(); }
  // Returns the parts at which there are arrays.
  const std::set<size_t>& arrays() const { return arrays_; }

 private:
  void step(size_t i, const std::string& path) {
    if (i == parts_.size()) {
      paths_.insert(path);
      return;
    }
    const bool position = i > 0 && bson::is_array_index(parts_[i]) && index_.multikey_path(path);
    if (position) {
      // An array in the array would have to be taken apart in its turn.
      const bool another = i + 1 < parts_.size() && bson::is_array_index(parts_[i + 1]);
      if (another || (positions_.insert(i), positions_.size() > positions_max)) refused_ = true;
      if (refused_) return;
      nested_.insert(path);
      arrays_.insert(i);
      step(i + 1, path);
    }
    const std::string longer = i == 0 ? std::string(parts_[i]) : path + "." + std::string(parts_[i]);
    if (index_.multikey_path(longer)) arrays_.insert(i);
    step(i + 1, longer);
  }

  const storage::Index& index_;
  const std::vector<std::string_view> parts_;
  std::set<std::string> paths_, nested_;
  std::set<size_t> arrays_;
  std::set<size_t> positions_;
  bool refused_ = false;
};

bson::Value bare(bson::Type type) {
  return bson::Value(bson::ValueView(type, {}));
}

Intervals bounds_of_paths(WildcardView::Reach reach, const std::vector<std::string>& paths) {
  Intervals bounds;
  if (reach == WildcardView::Reach::all) {
    // Documents without a value have MinKey in place of a path.
    return {Interval::point(bare(bson::Type::min_key)), {bson::Value(""), bson::Value(bson::DocumentView()), true, false}};
  }
  for (const std::string& path : paths) {
    bounds.push_back(Interval::point(bson::Value(path)));
    if (reach == WildcardView::Reach::below) bounds.push_back({bson::Value(path + "."), bson::Value(path + "/"), true, false});
  }
  return normalize(std::move(bounds));
}

// AskedPaths are the paths that a filter asks about.
class AskedPaths {
 public:
  explicit AskedPaths(Allowance& allowance) : allowance_(allowance), held_(allowance) {}

  void add(const Node& node, const std::string& prefix) {
    switch (node.kind()) {
      case Kind::conjunction:
        for (const auto& child : static_cast<const match::TreeNode&>(node).children()) add(*child, prefix);
        return;
      case Kind::disjunction: {
        // All branches have to be on one path.
        const auto& children = static_cast<const match::TreeNode&>(node).children();
        if (!children.empty()) add(*children.front(), prefix);
        return;
      }
      case Kind::negation: return add(static_cast<const match::NotNode&>(node).child(), prefix);
      case Kind::nor: return;
      default: break;
    }
    const auto* leaf = dynamic_cast<const match::PathNode*>(&node);
    if (!leaf) return;
    if (node.kind() == Kind::elem_match_object)
      return add(static_cast<const match::ElemMatchObject&>(node).filter(), prefix + leaf->path() + ".");
    std::string path = prefix + leaf->path();
    allowance_.work_on(path.size());
    const size_t bytes = path.size() + bytes_per_path;
    if (paths_.insert(std::move(path)).second) held_.add(bytes);
  }

  const std::set<std::string>& paths() const { return paths_; }

 private:
  static constexpr size_t bytes_per_path = 64;

  Allowance& allowance_;
  PlanBytes held_;
  std::set<std::string> paths_;
};

// Returns the predicates that hold only for documents with a value at the path. With an array there, {$ne: null} looks at its
// elements.
Predicates demands_value(const Predicates& predicates, const std::string& path, bool multikey) {
  Predicates found;
  for (const Node* node : predicates) {
    const Node* inner = node->kind() == Kind::negation ? &static_cast<const match::NotNode*>(node)->child() : node;
    const auto* leaf = dynamic_cast<const match::PathNode*>(inner);
    if (!leaf || leaf->path() != path) continue;
    const bool exists = inner == node && node->kind() == Kind::exists;
    const bool not_null = inner != node && !multikey && inner->kind() == Kind::eq &&
                          static_cast<const match::Comparison*>(inner)->value().is_nullish();
    if (exists || not_null) found.push_back(node);
  }
  return found;
}

bool leading_bounded(const Access& access) {
  return !is_everything(access.fields.front());
}

}  // namespace

WildcardView::WildcardView(Base base, std::string path, Reach reach, const std::vector<std::string>& key_paths, bool nested)
    : base_(std::move(base)),
      path_(std::move(path)),
      reach_(reach),
      position_(base_->spec().wildcard->position),
      several_paths_(key_paths.size() > 1),
      nested_(nested),
      path_bounds_(bounds_of_paths(reach, key_paths)) {
  spec_ = base_->spec();
  spec_.fields.clear();
  bson::Builder key;
  size_t i = 0;
  for (const bson::Element& element : base_->spec().key.view()) {
    storage::IndexField field = base_->spec().fields[i];
    if (i++ != position_) {
      // Behind a value that is left out, no field can be read.
      if (reach == Reach::all && i > position_) field.kind = storage::FieldKind::opaque;
      spec_.fields.push_back(std::move(field));
      key.append_element(element);
      continue;
    }
    spec_.fields.push_back({.path = "$_path", .kind = storage::FieldKind::opaque});
    key.append("$_path", 1);
    if (reach == Reach::all) continue;
    spec_.fields.push_back({.path = path_, .descending = field.descending});
    key.append(path_, element);
  }
  spec_.key = key.done();
}

bool WildcardView::multikey() const {
  if (reach_ == Reach::all || !base_->multikey()) return false;
  if (several_paths_) return true;
  // A scan asks this for each entry.
  for (size_t end = path_.find('.'); end != path_.npos; end = path_.find('.', end + 1)) {
    if (base_->multikey_path(std::string_view(path_).substr(0, end))) return true;
  }
  return base_->multikey_path(path_);
}

std::vector<std::string> WildcardView::multikey_paths(size_t i) const {
  if (!is_value(i) || !base_->multikey()) return {};
  const KeyPaths keys(*base_, path_);
  std::vector<std::string> paths;
  std::string path;
  size_t at = 0;
  for (const std::string_view part : bson::split_path(path_)) {
    if (at > 0) path += '.';
    path += part;
    if (keys.arrays().contains(at++)) paths.push_back(path);
  }
  return paths;
}

std::vector<Access> wildcard_scans(const std::shared_ptr<const storage::Index>& index, const Predicates& predicates,
                                   Allowance& allowance) {
  using Reach = WildcardView::Reach;
  const size_t position = index->spec().wildcard->position;
  AskedPaths asked(allowance);
  for (const Node* node : predicates) asked.add(*node, "");
  PlanBytes held(allowance);
  std::vector<Access> scans;
  const auto add = [&](Access scan) {
    held.add(bytes_of(scan));
    scans.push_back(std::move(scan));
  };
  for (const std::string& path : asked.paths()) {
    if (scans.size() == scans_max) break;
    allowance.work_on(path.size());
    const KeyPaths keys(*index, path);
    if (!keys.usable()) continue;
    Access access = index_access(std::make_shared<WildcardView>(index, path, Reach::values, keys.with_arrays(), keys.nested()),
                                 predicates, allowance);
    if (!is_everything(access.fields[position + 1])) {
      if (leading_bounded(access)) add(std::move(access));
      continue;
    }
    const Predicates demands = demands_value(predicates, path, !keys.arrays().empty());
    if (position > 0 || demands.empty()) continue;
    access = index_access(std::make_shared<WildcardView>(index, path, Reach::below, keys.with_arrays(), keys.nested()),
                          predicates, allowance);
    access.bounded.insert(access.bounded.end(), demands.begin(), demands.end());
    add(std::move(access));
  }
  if (position == 0) return scans;
  Access all = index_access(std::make_shared<WildcardView>(index, std::string(), Reach::all, std::vector<std::string>(), false),
                            predicates, allowance);
  if (leading_bounded(all)) add(std::move(all));
  return scans;
}

bool entries_tell_values(const Access& access) {
  const auto* view = dynamic_cast<const WildcardView*>(access.index.get());
  if (!view || view->reach() == WildcardView::Reach::all) return true;
  for (size_t i = 0; i < access.fields.size(); ++i) {
    if (view->is_path(i) && !(access.fields[i].size() == 1 && access.fields[i].front().is_point())) return false;
    if (view->is_value(i) && !intersect(access.fields[i], bracket(bson::Type::object)).empty()) return false;
  }
  return true;
}

}  // namespace server::query::plan
