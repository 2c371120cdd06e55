#include "versions/branch/field_merge.h"

#include <algorithm>
#include <functional>
#include <optional>

#include "bson/builder.h"
#include "versions/branch/pace.h"

namespace versions {

namespace {

using bson::DocumentView;
using bson::Element;
using bson::ValueView;

bool same(const ValueView& a, const ValueView& b) {
  return a.exists() == b.exists() && (!a.exists() || a.identical(b));
}
bool object_or_nothing(const ValueView& value) {
  return !value.exists() || value.is_object();
}
DocumentView as_document(const ValueView& value) {
  return value.exists() ? value.as_document() : DocumentView();
}

// Fields finds the fields of a document by their names. A document may have a million, so many are put in order first. If several
// have one name, it finds the first.
class Fields {
 public:
  Fields(DocumentView document, Pace& pace) : document_(document), pace_(pace), kept_(pace.nothing_kept()) {
    size_t count = 0;
    for (auto it = document.begin(); it != document.end(); ++it) ++count;
    if (count <= few) return;
    kept_.add(count * sizeof(Element));
    sorted_.reserve(count);
    for (const Element& field : document) {
      pace.step();
      sorted_.push_back(field);
    }
    // Fields with one name are in the order in which they lie. A stable sort would take half as much memory again.
    std::sort(sorted_.begin(), sorted_.end(), [&](const Element& a, const Element& b) {
      pace.step();
      const int order = a.name.compare(b.name);
      return order != 0 ? order < 0 : std::less<>()(a.name.data(), b.name.data());
    });
  }

  Element find(std::string_view name) const {
    pace_.step();
    if (sorted_.empty()) return document_.find(name);
    const auto found = std::lower_bound(sorted_.begin(), sorted_.end(), name,
                                        [](const Element& field, std::string_view wanted) { return field.name < wanted; });
    return found != sorted_.end() && found->name == name ? *found : Element();
  }

 private:
  static constexpr size_t few = 16;

  const DocumentView document_;
  Pace& pace_;
  KeptBytes kept_;
  std::vector<Element> sorted_;
};

// Merges the fields of one document, and collects the paths in conflict.
class FieldMerge {
 public:
  FieldMerge(const MergeRules& rules, const Sides& sides) : rules_(rules), pace_(sides.interrupted, sides.hold) {}

  bson::Document document(const std::string& path, DocumentView base, DocumentView ours, DocumentView theirs) {
    const Fields in_base(base, pace_), in_ours(ours, pace_), in_theirs(theirs, pace_);
    bson::Builder out;
    for (const Element& field : ours) append(out, path, field.name, in_base.find(field.name), field, in_theirs.find(field.name));
    for (const Element& field : theirs) {
      if (!in_ours.find(field.name).exists()) append(out, path, field.name, in_base.find(field.name), {}, field);
    }
    return out.done();
  }
  bool in_conflict() const { return !conflicts_.empty(); }
  // Returns the paths in conflict; none, if they are too long together for a reply.
  std::vector<std::string> take_conflicts() {
    return conflict_bytes_ > conflict_bytes_max ? std::vector<std::string>() : std::move(conflicts_);
  }

 private:
  static constexpr size_t conflict_bytes_max = 16 << 20;

  void append(bson::Builder& out, const std::string& above, std::string_view name, const ValueView& base, const ValueView& ours,
              const ValueView& theirs) {
    // Objects within objects are compared, and copied, once for each that they are in.
    pace_.step(std::max(ours.bytes().size(), theirs.bytes().size()));
    if (same(base, theirs)) return put(out, name, ours);
    if (same(base, ours)) return put(out, name, theirs);
    const std::string path = above.empty() ? std::string(name) : above + "." + std::string(name);
    pace_.step(path.size());
    if (const auto rule = rules_.paths.find(path);
        rule != rules_.paths.end() && by_rule(out, path, name, rule->second, base, ours, theirs))
      return;
    if (object_or_nothing(base) && ours.is_object() && theirs.is_object()) {
      out.append(name, document(path, as_document(base), ours.as_document(), theirs.as_document()).view());
      return;
    }
    if (same(ours, theirs) && (rules_.mode == MergeMode::field_divergent || path == "_id")) return put(out, name, ours);
    conflict(path);
    put(out, name, rules_.prefer == Prefer::theirs ? theirs : ours);
  }

  static void put(bson::Builder& out, std::string_view name, const ValueView& value) {
    if (value.exists()) out.append(name, value);
  }
  void conflict(const std::string& path) {
    if (conflict_bytes_ > conflict_bytes_max || (!conflicts_.empty() && conflicts_.back() == path)) return;
    kept_.add(kept_place_bytes + path.size());
    conflict_bytes_ += path.size();
    conflicts_.push_back(path);
  }

  // False: the rule doesn't apply to these values.
  bool by_rule(bson::Builder& out, const std::string& path, std::string_view name, const PathRule& rule, const ValueView& base,
               const ValueView& ours, const ValueView& theirs) {
    switch (rule.kind) {
      case PathRule::Kind::ours: return put(out, name, ours), true;
      case PathRule::Kind::theirs: return put(out, name, theirs), true;
      case PathRule::Kind::by_key: return by_key(out, path, name, rule.key, base, ours, theirs);
      default: break;
    }
    const bson::Value together = put_together(rule.kind, base, ours, theirs, pace_);
    if (together.exists()) out.append(name, together);
    return together.exists();
  }

  using Keyed = std::map<ValueView, ValueView, PacedLess>;
  // nullopt: it isn't an array of objects that all have different keys.
  std::optional<Keyed> keyed(const ValueView& array, const std::string& key, KeptBytes& kept) {
    Keyed all(PacedLess{&pace_});
    if (!array.exists()) return all;
    if (!array.is_array()) return std::nullopt;
    for (const Element& element : array.as_document()) {
      pace_.step(element.bytes().size());
      const Element field = element.is_object() ? element.as_document().find(key) : Element();
      kept.add(kept_node_bytes);
      if (!field.exists() || !all.emplace(field, element).second) return std::nullopt;
    }
    return all;
  }
  static ValueView find(const Keyed& all, const ValueView& key) {
    const auto found = all.find(key);
    return found == all.end() ? ValueView() : found->second;
  }

  // The elements stand in the order of ours; those that theirs added follow.
  bool by_key(bson::Builder& out, const std::string& path, std::string_view name, const std::string& key, const ValueView& base,
              const ValueView& ours, const ValueView& theirs) {
    if (!ours.is_array() || !theirs.is_array()) return false;
    KeptBytes kept = pace_.nothing_kept();
    const auto before = keyed(base, key, kept), mine = keyed(ours, key, kept), other = keyed(theirs, key, kept);
    if (!before || !mine || !other) return false;
    bson::ArrayBuilder all = out.array(name);
    const auto one = [&](const ValueView& which) {
      const ValueView b = find(*before, which), o = find(*mine, which), t = find(*other, which);
      if (same(b, t) || (same(o, t) && (!o.exists() || rules_.mode == MergeMode::field_divergent))) {
        if (o.exists()) all.append(o);
      } else if (same(b, o)) {
        if (t.exists()) all.append(t);
      } else if (o.exists() && t.exists()) {
        all.append(document(path, as_document(b), o.as_document(), t.as_document()).view());
      } else {
        conflict(path);
        const ValueView& taken = rules_.prefer == Prefer::theirs ? t : o;
        if (taken.exists()) all.append(taken);
      }
    };
    for (const Element& element : ours.as_document()) {
      pace_.step(element.bytes().size());
      one(element.as_document().find(key));
    }
    for (const Element& element : theirs.as_document()) {
      pace_.step(element.bytes().size());
      if (const Element which = element.as_document().find(key); !find(*mine, which).exists()) one(which);
    }
    return true;
  }

  const MergeRules& rules_;
  Pace pace_;
  KeptBytes kept_ = pace_.nothing_kept();
  std::vector<std::string> conflicts_;
  size_t conflict_bytes_ = 0;
};

Resolution in_conflict(const Sides& sides, const MergeRules& rules, std::vector<std::string> paths) {
  if (rules.decide) return rules.decide(sides);
  switch (rules.prefer) {
    case Prefer::ours: return {Resolution::Kind::ours};
    case Prefer::theirs: return {Resolution::Kind::theirs};
    case Prefer::neither: break;
  }
  return {Resolution::Kind::conflict, {}, std::move(paths)};
}

}  // namespace

Resolution merge_documents(const Sides& sides, const MergeRules& rules) {
  // A side may have another record with the same document.
  if (sides.ours == sides.base) return {Resolution::Kind::theirs};
  if (sides.theirs == sides.base) return {Resolution::Kind::ours};
  const bool touched = rules.mode == MergeMode::document_touched;
  if (sides.ours == sides.theirs && (!sides.ours || !touched)) return {Resolution::Kind::ours};
  if (!sides.ours || !sides.theirs || touched || rules.mode == MergeMode::document_divergent)
    return in_conflict(sides, rules, {});

  FieldMerge merge(rules, sides);
  const DocumentView base = sides.base ? DocumentView(*sides.base) : DocumentView();
  bson::Document merged = merge.document({}, base, DocumentView(*sides.ours), DocumentView(*sides.theirs));
  if (merge.in_conflict() && (rules.decide || rules.prefer == Prefer::neither))
    return in_conflict(sides, rules, merge.take_conflicts());
  return {Resolution::Kind::written, std::move(merged).bytes()};
}

Resolver resolver(MergeRules rules) {
  return [rules = std::move(rules)](const Sides& sides) { return merge_documents(sides, rules); };
}

}  // namespace versions
