#include "bson/diff.h"

#include <algorithm>
#include <charconv>
#include <vector>

#include "bson/builder.h"

namespace bson::diff {
namespace {

// --- computing ---

struct Index {
  char text[12];
  size_t length = 0;
  explicit Index(uint32_t number) { length = static_cast<size_t>(std::to_chars(text, text + sizeof text, number).ptr - text); }
  std::string_view view() const { return {text, length}; }
};

std::string prefixed(char section, std::string_view name) {
  std::string result(1, section);
  result += name;
  return result;
}

bool has_duplicate_names(DocumentView document) {
  std::vector<std::string_view> names;
  bool ascend = true;  // as numbers do, which the columns of a time series' buckets have for names: then no two are equal
  for (const Element& field : document) {
    if (!names.empty()) {
      const std::string_view last = names.back();
      ascend = ascend && (last.size() != field.name.size() ? last.size() < field.name.size() : last < field.name);
    }
    names.push_back(field.name);
  }
  if (ascend) return false;
  std::sort(names.begin(), names.end());
  return std::adjacent_find(names.begin(), names.end()) != names.end();
}

// Elements of a diff are found by position, so their names must be their positions.
bool has_plain_names(DocumentView array) {
  uint32_t position = 0;
  for (const Element& element : array) {
    if (element.name != Index(position++).view()) return false;
  }
  return true;
}

// Compares paths by their ends. Those to the elements of an array may have megabytes in common at the front.
bool ends_before(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return a.size() < b.size();
  const auto [in_a, in_b] = std::mismatch(a.rbegin(), a.rend(), b.rbegin());
  return in_a != a.rend() && *in_a < *in_b;
}

// A walk goes through both documents; it knows the path to where it is.
class Walk {
 public:
  explicit Walk(const WholePaths* whole) : told(whole != nullptr) {
    if (!whole) return;
    whole_.assign(whole->begin(), whole->end());
    std::sort(whole_.begin(), whole_.end(), ends_before);
  }

  bool comes_whole() const { return std::binary_search(whole_.begin(), whole_.end(), path, ends_before); }

  const bool told;  // what comes whole; otherwise the size decides
  std::string path;

 private:
  std::vector<std::string_view> whole_;
};

std::optional<Document> compute_object(DocumentView before, DocumentView after, Walk& walk);
std::optional<Document> compute_array(DocumentView before, DocumentView after, Walk& walk);

// Computes the difference of the two values one level down; nothing: the value serves better.
std::optional<Document> compute_within(const ValueView& before, const ValueView& after, std::string_view name, Walk& walk) {
  if (before.type() != after.type() || (!before.is_object() && !before.is_array())) return std::nullopt;
  const size_t length = walk.path.size();
  if (walk.told) walk.path.append(length == 0 ? "" : ".").append(name);
  std::optional<Document> result;
  if (!walk.comes_whole()) {
    result = before.is_object() ? compute_object(before.as_document(), after.as_document(), walk)
                                : compute_array(before.as_document(), after.as_document(), walk);
  }
  walk.path.resize(length);
  if (!walk.told && result && result->size() >= after.bytes().size()) return std::nullopt;
  return result;
}

struct Within {
  std::string_view name;
  Document diff;
};

void append_section(Builder& out, const char* name, const std::vector<Element>& fields) {
  if (fields.empty()) return;
  Builder section = out.object(name);
  for (const Element& field : fields) section.append_element(field);
}

// Insertions go to the end, so only the leading part of `after` that occurs in `before` in the same
// order can stay where it is; what follows is inserted.
std::optional<Document> compute_object(DocumentView before, DocumentView after, Walk& walk) {
  if (has_duplicate_names(before) || has_duplicate_names(after)) return std::nullopt;
  std::vector<Element> updated, inserted;
  std::vector<std::string_view> deleted;
  std::vector<Within> within;
  auto to = after.begin();
  for (const Element& from : before) {
    if (to == after.end() || from.name != to->name) {
      deleted.push_back(from.name);
      continue;
    }
    if (!from.identical(*to)) {
      auto inner = compute_within(from, *to, from.name, walk);
      inner ? void(within.push_back({from.name, std::move(*inner)})) : updated.push_back(*to);
    }
    ++to;
  }
  for (; to != after.end(); ++to) inserted.push_back(*to);

  // Inserting a field takes the old one away.
  std::vector<std::string_view> coming;
  for (const Element& field : inserted) coming.push_back(field.name);
  std::sort(coming.begin(), coming.end());
  std::erase_if(deleted, [&](std::string_view name) { return std::binary_search(coming.begin(), coming.end(), name); });

  Builder out;
  if (!deleted.empty()) {
    Builder section = out.object("d");
    for (const std::string_view name : deleted) section.append(name, false);
  }
  append_section(out, "u", updated);
  append_section(out, "i", inserted);
  for (const Within& inner : within) out.append(prefixed('s', inner.name), inner.diff);
  return out.done();
}

std::optional<Document> compute_array(DocumentView before, DocumentView after, Walk& walk) {
  if (!has_plain_names(before) || !has_plain_names(after)) return std::nullopt;
  Builder out;
  out.append("a", true);
  const size_t length = after.count();
  if (length < before.count()) out.append("l", static_cast<int32_t>(length));
  auto from = before.begin();
  for (const Element& to : after) {
    const bool fresh = from == before.end();
    if (fresh || !from->identical(to)) {
      const auto inner = fresh ? std::nullopt : compute_within(*from, to, to.name, walk);
      if (inner) {
        out.append(prefixed('s', to.name), *inner);
      } else {
        out.append(prefixed('u', to.name), static_cast<ValueView>(to));
      }
    }
    if (!fresh) ++from;
  }
  return out.done();
}

// --- applying ---

// The limit of how far behind an array's end an element may be put; updates have the same.
constexpr int64_t padding_max = 1'500'000;

struct Malformed {
  std::string what;
};

// One change of a field.
struct Change {
  enum Kind { remove, update, insert, within } kind;
  std::string_view name;
  ValueView value;
};

class Changes {
 public:
  explicit Changes(DocumentView diff);
  const Change* find(std::string_view name) const {
    const auto at = std::lower_bound(sorted_.begin(), sorted_.end(), name,
                                     [](const Change& change, std::string_view wanted) { return change.name < wanted; });
    return at != sorted_.end() && at->name == name ? &*at : nullptr;
  }
  const std::vector<Change>& in_order() const { return in_order_; }

 private:
  std::vector<Change> in_order_;
  std::vector<Change> sorted_;
};

Changes::Changes(DocumentView diff) {
  for (const Element& section : diff) {
    if (!section.is_object()) throw Malformed{"the section '" + std::string(section.name) + "' is no object"};
    if (section.name.starts_with('s')) {
      in_order_.push_back({Change::within, section.name.substr(1), section});
      continue;
    }
    Change::Kind kind = Change::insert;
    if (section.name == "d")
      kind = Change::remove;
    else if (section.name == "u")
      kind = Change::update;
    else if (section.name != "i")
      throw Malformed{"an unknown section '" + std::string(section.name) + "'"};
    for (const Element& field : section.as_document()) in_order_.push_back({kind, field.name, field});
  }
  sorted_ = in_order_;
  std::stable_sort(sorted_.begin(), sorted_.end(), [](const Change& a, const Change& b) { return a.name < b.name; });
  const auto same = [](const Change& a, const Change& b) { return a.name == b.name; };
  if (std::adjacent_find(sorted_.begin(), sorted_.end(), same) != sorted_.end()) throw Malformed{"a field changed twice"};
}

Document apply_object(DocumentView before, DocumentView diff);
Document apply_array(DocumentView before, DocumentView diff);

bool is_array_diff(DocumentView diff) {
  return diff.first().name == "a";
}

// Returns the diff one level down, or nothing when the value doesn't have a diff's shape.
std::optional<Value> apply_within(const ValueView& before, DocumentView diff) {
  if (is_array_diff(diff)) {
    if (!before.is_array()) return std::nullopt;
    return Value::array(apply_array(before.as_document(), diff));
  }
  if (!before.is_object()) return std::nullopt;
  return Value(apply_object(before.as_document(), diff));
}

Document apply_object(DocumentView before, DocumentView diff) {
  const Changes changes(diff);
  Builder out;
  std::vector<std::string_view> met;  // fields changed in place
  for (const Element& field : before) {
    const Change* change = changes.find(field.name);
    if (!change) {
      out.append_element(field);
      continue;
    }
    if (change->kind == Change::update) {
      out.append(field.name, change->value);
      met.push_back(field.name);
    } else if (change->kind == Change::within) {
      const auto inner = apply_within(field, change->value.as_document());
      inner ? out.append(field.name, *inner) : out.append_element(field);
    }
  }
  std::sort(met.begin(), met.end());
  for (const Change& change : changes.in_order()) {
    const bool missed = change.kind == Change::update && !std::binary_search(met.begin(), met.end(), change.name);
    if (missed || change.kind == Change::insert) out.append(change.name, change.value);
  }
  return out.done();
}

struct ArrayChange {
  int64_t index;
  bool within;
  ValueView value;
};

int64_t checked_index(int64_t index, int64_t length) {
  if (index < 0 || index > length + padding_max) throw Malformed{"a position out of range"};
  return index;
}

ArrayChange array_change(const Element& section, int64_t length) {
  const std::string_view name = section.name;
  const bool within = name.starts_with('s');
  int64_t index = -1;
  const char* end = name.data() + name.size();
  const bool known = within || name.starts_with('u');
  if (!known || std::from_chars(name.data() + 1, end, index).ptr != end || (within && !section.is_object())) {
    throw Malformed{"an unknown section '" + std::string(name) + "'"};
  }
  return {checked_index(index, length), within, section};
}

Document apply_array(DocumentView before, DocumentView diff) {
  const auto length = static_cast<int64_t>(before.count());
  int64_t resized = -1;
  std::vector<ArrayChange> changes;
  for (const Element& section : diff) {
    if (section.name == "a") continue;
    if (section.name == "l") {
      if (!section.is_integer()) throw Malformed{"a length that is no integer"};
      resized = checked_index(section.to_int64(), length);
    } else {
      changes.push_back(array_change(section, length));
    }
  }
  std::stable_sort(changes.begin(), changes.end(), [](const ArrayChange& a, const ArrayChange& b) { return a.index < b.index; });
  int64_t wanted = resized >= 0 ? resized : length;
  for (const ArrayChange& change : changes) {
    if (!change.within) wanted = std::max(wanted, change.index + 1);
  }

  ArrayBuilder out;
  auto from = before.begin();
  auto change = changes.begin();
  for (int64_t index = 0; index < wanted; ++index) {
    const ValueView old = from == before.end() ? ValueView(Type::null, {}) : static_cast<ValueView>(*from);
    if (from != before.end()) ++from;
    if (change == changes.end() || change->index != index) {
      out.append(old);
      continue;
    }
    const auto inner = change->within ? apply_within(old, change->value.as_document()) : Value(change->value);
    inner ? out.append(*inner) : out.append(old);
    while (change != changes.end() && change->index == index) ++change;
  }
  if (out.size() > document_bytes_max_internal) throw Malformed{"an array beyond a document's size"};
  return Document(out.done_value().view().as_document());
}

// --- outlines ---

void append_outline(DocumentView diff, Builder& out) {
  const bool array = is_array_diff(diff);
  for (const Element& section : diff) {
    if (section.name.starts_with('s')) {
      Builder inner = out.object(section.name);
      append_outline(section.as_document(), inner);
    } else if (array && section.name.starts_with('u')) {
      out.append_null(section.name);
    } else if (!array && (section.name == "u" || section.name == "i")) {
      Builder fields = out.object(section.name);
      for (const Element& field : section.as_document()) fields.append_null(field.name);
    } else {
      out.append_element(section);
    }
  }
}

ValueView value_in(DocumentView after, std::string_view name) {
  const auto value = after.find(name);
  if (!value.exists()) throw Malformed{"there is no '" + std::string(name) + "'"};
  return value;
}

// Fills an outline in: makes the diff.
class Filling {
 public:
  explicit Filling(Builder& out) : out_(out) {}
  void keep(const Element& section) { out_.append_element(section); }
  void bring(std::string_view name, const ValueView& value) { out_.append(name, value); }
  template <class Within>
  void section(std::string_view name, const Within& within) {
    Builder inner = out_.object(name);
    Filling filling(inner);
    within(filling);
  }

 private:
  Builder& out_;
};

// Counts by how much Filling makes the outline longer.
struct Counting {
  size_t bytes = 0;
  void keep(const Element&) {}
  void bring(std::string_view, const ValueView& value) { bytes += value.bytes().size(); }
  template <class Within>
  void section(std::string_view, const Within& within) {
    within(*this);
  }
};

template <class Sink>
void fill(DocumentView outline, DocumentView after, Sink& sink) {
  const bool array = is_array_diff(outline);
  const auto bring = [&](Sink& into, const Element& placeholder, std::string_view name) {
    if (placeholder.type() != Type::null) throw Malformed{"a value in it"};
    into.bring(placeholder.name, value_in(after, name));
  };
  for (const Element& section : outline) {
    const std::string_view name = section.name;
    const bool fields = !array && (name == "u" || name == "i");
    if ((fields || name.starts_with('s')) && !section.is_object())
      throw Malformed{"the section '" + std::string(name) + "' is no object"};
    if (name.starts_with('s')) {
      const ValueView within = value_in(after, name.substr(1));
      if (!within.is_object() && !within.is_array()) throw Malformed{"'" + std::string(name) + "' is no level"};
      sink.section(name, [&](Sink& inner) { fill(section.as_document(), within.as_document(), inner); });
    } else if (fields) {
      sink.section(name, [&](Sink& inner) {
        for (const Element& field : section.as_document()) bring(inner, field, field.name);
      });
    } else if (array && name.starts_with('u')) {
      bring(sink, section, name.substr(1));
    } else {
      sink.keep(section);
    }
  }
}

}  // namespace

std::optional<Document> compute(DocumentView before, DocumentView after, const WholePaths* whole) {
  Walk walk(whole);
  return compute_object(before, after, walk);
}

Document outline(DocumentView diff) {
  Builder out;
  append_outline(diff, out);
  return out.done();
}

base::Result<Document> filled(DocumentView outline, DocumentView after) {
  try {
    Builder out;
    Filling filling(out);
    fill(outline, after, filling);
    return out.done();
  } catch (const Malformed& malformed) {
    return base::Failure{base::ErrorCode::failed_to_parse, "not a diff's outline: " + malformed.what};
  }
}

std::optional<size_t> filled_bytes(DocumentView outline, DocumentView after) {
  try {
    Counting counting;
    fill(outline, after, counting);
    return outline.size() + counting.bytes;
  } catch (const Malformed&) {
    return std::nullopt;
  }
}

base::Result<Document> apply(DocumentView before, DocumentView diff) {
  try {
    return apply_object(before, diff);
  } catch (const Malformed& malformed) {
    return base::Failure{base::ErrorCode::failed_to_parse, "not a document diff: " + malformed.what};
  }
}

}  // namespace bson::diff
