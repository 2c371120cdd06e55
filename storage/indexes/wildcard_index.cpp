#include "storage/indexes/wildcard_index.h"

#include <algorithm>

#include "base/error.h"
#include "bson/builder.h"
#include "bson/json.h"
#include "bson/path.h"

namespace storage {
namespace {

using base::ErrorCode;
using base::OperationError;
using bson::DocumentView;
using bson::Element;
using bson::Type;
using bson::ValueView;
using Part = WildcardIndex::Part;

constexpr std::string_view all_fields = "$**";

[[noreturn]] void cannot(const std::string& message) {
  throw OperationError(ErrorCode::cannot_create_index, message);
}

// Returns whether `path` is `outer` or lies below it.
bool lies_on(std::string_view path, std::string_view outer) {
  return path.starts_with(outer) && (path.size() == outer.size() || path[outer.size()] == '.');
}

// Orders paths component by component.
bool before(std::string_view a, std::string_view b) {
  return bson::split_path(a) < bson::split_path(b);
}

// A Projection is wildcardProjection, taken apart into paths.
struct Projection {
  std::vector<std::string> included, excluded;
  bool includes = false;
};

[[noreturn]] void bad_projection(int code, const std::string& why) {
  throw OperationError(ErrorCode{code}, "Failed to parse projection: wildcardProjection :: caused by :: " + why);
}

void check_projected(std::string_view path) {
  if (path.empty()) bad_projection(40352, "FieldPath cannot be constructed with empty string");
  if (path.back() == '.') bad_projection(40353, "FieldPath must not end with a '.'.");
  for (const std::string_view component : bson::split_path(path)) {
    if (component.empty()) bad_projection(15998, "FieldPath field names may not be empty strings.");
    if (component.front() == '$') {
      bad_projection(16410, "FieldPath field names may not start with '$'. Consider using $getField or $setField.");
    }
  }
}

void collect(DocumentView fields, const std::string& prefix, Projection& out, int depth = 0) {
  constexpr int depth_max = 100;
  if (depth > depth_max) bad_projection(static_cast<int>(ErrorCode::overflow), "the projection is nested too deeply");
  for (const Element& field : fields) {
    const std::string path = prefix.empty() ? std::string(field.name) : prefix + "." + std::string(field.name);
    check_projected(path);
    if (field.is_object() && !field.as_document().empty() && !field.as_document().first().name.starts_with('$')) {
      collect(field.as_document(), path, out, depth + 1);
    } else if (field.is_number() || field.type() == Type::boolean) {
      (field.truthy() ? out.included : out.excluded).push_back(path);
    } else {
      bad_projection(51271,
                     "Bad projection specification, cannot use computed fields when parsing a spec in kBanComputedFields mode: " +
                         bson::to_shell(fields));
    }
  }
}

// The first field but _id says whether the projection includes or excludes. Alone, _id does.
bool inclusion(const Projection& projection, DocumentView given) {
  for (const Element& field : given) {
    if (field.name != "_id" && !field.is_object()) return field.truthy();
  }
  const auto other = [](const std::string& path) { return path != "_id"; };
  if (std::any_of(projection.included.begin(), projection.included.end(), other)) return true;
  if (std::any_of(projection.excluded.begin(), projection.excluded.end(), other)) return false;
  return projection.excluded.empty();
}

// Returns the field that the other kind of projection may not have; nullptr: there is none.
const std::string* misfit(const Projection& projection) {
  const auto& others = projection.includes ? projection.excluded : projection.included;
  const auto found = std::find_if(others.begin(), others.end(), [](const std::string& path) { return path != "_id"; });
  return found == others.end() ? nullptr : &*found;
}

// Returns a path, and the one that lies on it; they stand side by side in the order of paths.
const std::string* overlap(const std::vector<std::string>& sorted) {
  for (size_t i = 1; i < sorted.size(); ++i) {
    if (lies_on(sorted[i], sorted[i - 1])) return &sorted[i - 1];
  }
  return nullptr;
}

void check_overlaps(const std::vector<std::string>& sorted, bool compound) {
  const std::string* outer = overlap(sorted);
  if (!outer) return;
  const std::string& inner = *(outer + 1);
  if (compound) {
    throw OperationError(
        7246200, "Fields in Wildcard Projection cannot overlap, however '" + *outer + "' is overlapped with '" + inner + "'");
  }
  if (inner == *outer) bad_projection(31250, "Path collision at " + inner);
  bad_projection(31249, "Path collision at " + inner + " remaining portion " + inner.substr(outer->size() + 1));
}

// The wildcard of a compound index must not have the other fields.
void check_against_fields(const Projection& projection, std::vector<std::string> fields) {
  std::sort(fields.begin(), fields.end(), before);
  for (const std::string& field : fields) {
    if (projection.includes) {
      const auto& included = projection.included;
      const auto over =
          std::find_if(included.begin(), included.end(), [&](const std::string& path) { return lies_on(field, path); });
      if (over == included.end()) continue;
      throw OperationError(7246208, "Index Key and Wildcard Projection cannot contain overlapping fields, however '" + field +
                                        "' index field is overlapping with '" + *over + "' wildcardProjection path.");
    }
    const auto& excluded = projection.excluded;
    if (std::any_of(excluded.begin(), excluded.end(), [&](const std::string& path) { return lies_on(field, path); })) continue;
    const bool more = std::any_of(excluded.begin(), excluded.end(), [&](const std::string& path) { return before(field, path); });
    throw OperationError(more ? 7246209 : 7246210, "wildcardProjection paths must exclude all regular index fields, however '" +
                                                       field + "' is not excluded.");
  }
}

Projection parse_projection(const Element& given, const std::vector<std::string>& regular) {
  Projection projection;
  collect(given.as_document(), "", projection);
  projection.includes = inclusion(projection, given.as_document());
  std::sort(projection.included.begin(), projection.included.end(), before);
  std::sort(projection.excluded.begin(), projection.excluded.end(), before);
  check_overlaps(projection.included, !regular.empty());
  check_overlaps(projection.excluded, !regular.empty());
  if (const std::string* field = misfit(projection)) {
    if (!regular.empty()) {
      throw OperationError(7246211,
                           "Inclusion and exclusion statements cannot combine in the wildcardProjection with an exception of "
                           "explicitly including _id field");
    }
    if (projection.includes) bad_projection(31254, "Cannot do exclusion on field " + *field + " in inclusion projection");
    bad_projection(31253, "Cannot do inclusion on field " + *field + " in exclusion projection");
  }
  check_against_fields(projection, regular);
  return projection;
}

// Returns the path above the wildcard; it is empty for "$**".
std::string_view root_of(std::string_view name) {
  name.remove_suffix(std::min(name.size(), name.size() == all_fields.size() ? all_fields.size() : all_fields.size() + 1));
  return name;
}

void settle_paths(const Element& given, const std::string& root, const std::vector<std::string>& regular, WildcardIndex& index) {
  if (!root.empty()) {
    index.includes = true;
    index.paths = {root};
    return;
  }
  if (!given.exists()) {
    index.paths = {"_id"};
    return;
  }
  Projection projection = parse_projection(given, regular);
  index.includes = projection.includes;
  index.paths = projection.includes ? std::move(projection.included) : std::move(projection.excluded);
  // The index leaves _id out unless it is told to have it.
  const auto has_id = [](const std::vector<std::string>& paths) {
    return std::find(paths.begin(), paths.end(), "_id") != paths.end();
  };
  if (!index.includes && !has_id(projection.included) && !has_id(index.paths)) index.paths.emplace_back("_id");
  std::sort(index.paths.begin(), index.paths.end());
  index.projection = bson::Document(given.as_document());
}

void check_options(DocumentView given, const IndexSpec& spec) {
  if (const Element version = given.find("v"); version.is_number() && version.to_int64() == 1)
    cannot("'wildcard' index plugin is not allowed with index version v:1");
  if (spec.sparse) cannot("Index type 'wildcard' does not support the sparse option");
  if (spec.unique) cannot("Index type 'wildcard' does not support the unique option");
  if (given.find("prepareUnique").truthy()) cannot("Index type 'wildcard' does not support the prepareUnique option");
  if (spec.expire_after_seconds) cannot("Index type 'wildcard' cannot be a TTL index");
}

// Returns the fields beside the wildcard.
std::vector<std::string> regular_fields(const IndexSpec& spec, size_t& position) {
  std::vector<std::string> regular;
  bool found = false;
  for (size_t i = 0; i < spec.fields.size(); ++i) {
    const IndexField& field = spec.fields[i];
    if (field.kind == FieldKind::wildcard) {
      if (found) throw OperationError(7246201, "Index Key can contain only one wildcard index field");
      found = true;
      position = i;
    } else if (field.kind != FieldKind::ordered) {
      cannot("Can't use more than one index plugin for a single index.");
    } else {
      regular.push_back(field.path);
    }
  }
  return regular;
}

// Leaves are the values that have entries.
class Leaves {
 public:
  Leaves(const WildcardIndex& index, const EachLeaf& each, std::set<std::string>& arrays)
      : index_(index), each_(each), arrays_(arrays) {}

  // Returns whether it found an entry among the fields. `part` is the object's own.
  bool object(DocumentView fields, Part part, bool top) {
    bool found = false;
    for (const Element& field : fields) {
      if (field.name.find('.') != field.name.npos) continue;  // no query finds such a field by its path
      const size_t length = path_.size();
      if (!top) path_ += '.';
      path_ += field.name;
      const Part below = part == Part::all ? Part::all : index_.part(path_);
      if (below != Part::none) found = value(field, below) || found;
      path_.resize(length);
    }
    return found;
  }

 private:
  bool value(const ValueView& value, Part part) {
    if (!value.is_array()) return element(value, part);
    arrays_.insert(path_);
    const DocumentView elements = value.as_document();
    if (elements.empty()) return leaf(ValueView(Type::undefined, {}), part);
    bool found = false;
    // A path may go to a position of an array within an array, so that is an entry even if its own path isn't in the index.
    for (const Element& one : elements) found = (one.is_array() ? (each_(path_, one), true) : element(one, part)) || found;
    return found;
  }

  // A value that isn't an array, at the path itself or in an array there.
  bool element(const ValueView& value, Part part) {
    if (!value.is_object()) return leaf(value, part);
    const DocumentView fields = value.as_document();
    return object(fields, part, false) || leaf(ValueView(Type::object, DocumentView().bytes()), part);
  }

  bool leaf(const ValueView& value, Part part) {
    if (index_.includes && part != Part::all) return false;
    each_(path_, value);
    return true;
  }

  const WildcardIndex& index_;
  const EachLeaf& each_;
  std::set<std::string>& arrays_;
  std::string path_;
};

}  // namespace

Part WildcardIndex::part(std::string_view path) const {
  const Part on = includes ? Part::all : Part::none;
  for (const std::string& one : paths) {
    if (lies_on(path, one)) return on;
  }
  for (const std::string& one : paths) {
    if (lies_on(one, path)) return Part::some;
  }
  return includes ? Part::none : Part::all;
}

bool is_wildcard(std::string_view name) {
  return name == all_fields || name.ends_with(".$**");
}

void parse_wildcard_index(DocumentView given, IndexSpec& spec) {
  auto index = std::make_shared<WildcardIndex>();
  const std::vector<std::string> regular = regular_fields(spec, index->position);
  const std::string root(root_of(spec.fields[index->position].path));
  const Element projection = given.find("wildcardProjection");
  if (projection.exists() && !projection.is_object()) {
    throw OperationError(ErrorCode::type_mismatch, "The field 'wildcardProjection' must be a non-empty object, but got " +
                                                       std::string(bson::type_name(projection.type())));
  }
  if (projection.exists() && !root.empty()) {
    throw OperationError(ErrorCode::failed_to_parse,
                         "The field 'wildcardProjection' is only allowed when 'key' is {\"$**\": ±1}");
  }
  if (projection.exists() && projection.as_document().empty())
    throw OperationError(ErrorCode::failed_to_parse, "The 'wildcardProjection' field can't be an empty object");
  if (!projection.exists() && root.empty() && !regular.empty())
    cannot("Compound wildcard indexes on all fields must also specify 'wildcardProjection' option");
  for (const std::string& field : regular) {
    if (root.empty() || !lies_on(field, root)) continue;
    throw OperationError(7246204,
                         "A wildcard index field should not overlap with and index key fields if wildcard projection is empty, "
                         "however '" +
                             field + "' is overlapping with the wildcard index field.");
  }
  check_options(given, spec);
  settle_paths(projection, root, regular, *index);
  spec.wildcard = std::move(index);
}

void each_leaf(const WildcardIndex& index, DocumentView document, const EachLeaf& each, std::set<std::string>& arrays) {
  Leaves(index, each, arrays).object(document, Part::some, true);
}

}  // namespace storage
