#include "storage/indexes/index_keys.h"

#include <algorithm>
#include <charconv>
#include <functional>
#include <set>

#include "base/error.h"
#include "bson/builder.h"
#include "bson/key_types.h"
#include "bson/keystring.h"
#include "bson/path.h"
#include "storage/indexes/located_keys.h"
#include "storage/indexes/shown_id.h"
#include "storage/indexes/text_index.h"
#include "storage/indexes/wildcard_index.h"

namespace storage {
namespace {

using bson::DocumentView;
using bson::Element;
using bson::Type;
using bson::ValueView;

constexpr size_t times_equal = 4;  // keys may have so many times the bytes, if each of several equal ones is counted

// A Slot says how far one field of the index has got on its path.
struct Slot {
  ValueView at;           // it stands on this value
  std::string_view rest;  // this is the rest of the path; it is empty at the end
  std::string_view name;  // this names the field that it stands on
  size_t objects = 0;     // so many were walked through, the document itself among them
  bool open = true;       // it has no value yet
  bool found = true;
};
using Slots = std::vector<Slot>;
using Emit = std::function<void(const Slots&)>;

std::string_view first_component(std::string_view path) {
  return path.substr(0, path.find('.'));
}
std::string_view behind(std::string_view path, std::string_view component) {
  return component.size() == path.size() ? std::string_view() : path.substr(component.size() + 1);
}

void settle(Slot& slot, ValueView value) {
  slot.at = value;
  slot.open = false;
  slot.found = value.exists();
}

// Returns the element that a number names, if the array is long enough to have it.
ValueView positional(DocumentView array, std::string_view component) {
  if (!bson::is_array_index(component)) return {};
  size_t wanted = 0;
  std::from_chars(component.data(), component.data() + component.size(), wanted);
  ValueView hit;
  for (const Element& element : array) {
    if (wanted-- == 0) hit = element;
  }
  if (!hit.exists()) return {};
  for (const Element& element : array) {
    if (element.is_object() && element.as_document().has(component)) {
      throw base::OperationError(
          16746,
          "Ambiguous field name found in array (do not use numeric field names in embedded elements in an array), field: '" +
              std::string(component) + "'");
    }
  }
  return hit;
}

// Walks until the slot has its value, or stands on an array whose elements have to be taken one by one.
void walk(Slot& slot, bool& multikey) {
  for (;;) {
    if (slot.at.is_array()) {
      if (slot.rest.empty()) return;
      const std::string_view component = first_component(slot.rest);
      const ValueView element = positional(slot.at.as_document(), component);
      if (!element.exists()) return;
      multikey = true;
      slot.at = element;
      slot.name = component;
      slot.rest = behind(slot.rest, component);
      continue;
    }
    if (slot.rest.empty()) return settle(slot, slot.at);
    if (!slot.at.is_object()) return settle(slot, {});
    ++slot.objects;
    const std::string_view component = first_component(slot.rest);
    slot.at = slot.at.as_document().find(component);
    slot.name = component;
    slot.rest = behind(slot.rest, component);
    if (!slot.at.exists()) return settle(slot, {});
  }
}

class Expansion {
 public:
  explicit Expansion(Emit emit) : emit_(std::move(emit)) {}

  void run(Slots& slots) {
    const Slot* array = nullptr;
    for (size_t i = 0; i < slots.size(); ++i) {
      Slot& slot = slots[i];
      if (!slot.open) continue;
      bool positional = false;
      walk(slot, positional);
      if (positional || slot.open) multikey_fields |= uint32_t{1} << i;
      if (!slot.open) continue;
      if (array && array->at.bytes().data() != slot.at.bytes().data()) {
        throw base::OperationError(
            171, "cannot index parallel arrays [" + std::string(slot.name) + "] [" + std::string(array->name) + "]");
      }
      array = &slot;
    }
    if (!array) return emit_(slots);
    const DocumentView elements = array->at.as_document();
    if (elements.empty()) return into(slots, ValueView(Type::undefined, {}));
    for (const Element& element : elements) into(slots, element);
  }

  uint32_t multikey_fields = 0;

 private:
  // Puts one element of the array in its place, for every field that stands on the array.
  void into(const Slots& slots, ValueView element) {
    Slots next = slots;
    for (Slot& slot : next) {
      if (!slot.open) continue;
      if (slot.rest.empty()) {
        settle(slot, element);
      } else if (element.is_object()) {
        slot.at = element;
      } else {
        settle(slot, {});
      }
    }
    run(next);
  }

  Emit emit_;
};

Slots start(const IndexSpec& spec, DocumentView document) {
  Slots slots(spec.fields.size());
  for (size_t i = 0; i < slots.size(); ++i) {
    slots[i].at = ValueView(Type::object, document.bytes());
    slots[i].rest = spec.fields[i].path;
    if (spec.fields[i].kind == FieldKind::wildcard) settle(slots[i], {});
  }
  return slots;
}

ValueView indexed_value(const Slot& slot) {
  return slot.found ? slot.at : ValueView(Type::null, {});
}

// Says for which field of a hashed index a document has an array.
void refuse_arrays(const IndexSpec& spec, uint32_t multikey_fields) {
  for (size_t i = 0; i < spec.fields.size(); ++i) {
    if (spec.fields[i].hashed() && (multikey_fields >> i & 1)) {
      throw base::OperationError(
          16766, "hashed indexes do not currently support array values. Found array at path: " + spec.fields[i].path);
    }
  }
}

// A wildcard's slot is named by the whole path of its value. It has none if the document has no value for the index.
void append_path(const Slot& slot, bson::KeyString& key) {
  if (slot.found) {
    key.append(bson::Value(slot.name));
  } else {
    key.append(ValueView(Type::min_key, {}));
  }
}

template <typename Add>
void append_key(const IndexSpec& spec, const Slots& slots, Add&& add) {
  if (spec.sparse && std::none_of(slots.begin(), slots.end(), [](const Slot& slot) { return slot.found; })) return;
  bson::KeyString key;
  bson::KeyTypes types;
  for (size_t i = 0; i < slots.size(); ++i) {
    if (spec.fields[i].kind == FieldKind::wildcard) {
      append_path(slots[i], key);
      key.append(slots[i].at, spec.fields[i].descending, spec.collator.get());
      types.add(slots[i].at);
      continue;
    }
    if (spec.fields[i].hashed()) {
      const bson::Value hash(hashed_field(indexed_value(slots[i]), spec.collator.get()));
      key.append(hash);
      types.add(hash);
      continue;
    }
    key.append(indexed_value(slots[i]), spec.fields[i].descending, spec.collator.get());
    slots[i].found ? types.add(slots[i].at) : types.add_missing(slots[i].objects > 0 ? slots[i].objects - 1 : 0);
  }
  add(std::move(key).bytes(), types.take());
}

// Sorts the keys and keeps each once. Elements of one array may be equal and of different types: the types of either will do,
// since nobody reads the value of a field that has arrays from its key.
void put_in_order(IndexKeys& out) {
  if (out.types.empty()) {
    std::sort(out.keys.begin(), out.keys.end());
    out.keys.erase(std::unique(out.keys.begin(), out.keys.end()), out.keys.end());
    return;
  }
  std::vector<std::pair<Bytes, Bytes>> both;
  for (size_t i = 0; i < out.keys.size(); ++i) both.emplace_back(std::move(out.keys[i]), std::move(out.types[i]));
  std::sort(both.begin(), both.end());
  out.keys.clear();
  out.types.clear();
  for (auto& [key, types] : both) {
    if (out.keys.empty() || out.keys.back() != key) out.add(std::move(key), std::move(types));
  }
}

// A Collector takes the keys of one document. Equal keys count once, so the keys are put in order before they are counted,
// whenever twice the permitted bytes have come.
class Collector {
 public:
  Collector(const IndexSpec& spec, DocumentView document, KeyLimits limits, IndexKeys& out)
      : spec_(spec), document_(document), bytes_max_(limits.bytes), out_(out) {}

  void operator()(Bytes key, Bytes types) {
    const size_t bytes = key.size() + types.size();
    bytes_ += bytes;
    made_bytes_ += bytes;
    out_.add(std::move(key), std::move(types));
    if (made_bytes_ / times_equal > bytes_max_) refuse();
    if (bytes_ / 2 >= bytes_max_) finish();
  }

  void finish() {
    const bool may_be_too_many = bytes_ > bytes_max_;
    put_in_order(out_);
    if (!may_be_too_many) return;
    bytes_ = out_.bytes();
    if (bytes_ > bytes_max_) refuse();
  }

 private:
  [[noreturn]] void refuse() const {
    throw base::OperationError(base::ErrorCode::cannot_build_index_keys,
                               "A document may have keys of " + std::to_string(bytes_max_) +
                                   " bytes under one index; it has more under index " + spec_.name + ": " + shown_id(document_));
  }

  const IndexSpec& spec_;
  const DocumentView document_;
  const size_t bytes_max_;
  IndexKeys& out_;
  size_t bytes_ = 0, made_bytes_ = 0;
};

// Appends {$_path: "a.b", "a.b": 5}; a document without a value has no more than MinKey as its path.
void append_leaf(const Slot& slot, bson::Builder& out) {
  if (!slot.found) {
    out.append("$_path", ValueView(Type::min_key, {}));
    return;
  }
  out.append("$_path", slot.name).append(slot.name, slot.at);
}

// Calls `emit` with the fields' values around each leaf of a wildcard index. Returns the paths of the arrays.
std::set<std::string> wildcard_slots(const IndexSpec& spec, DocumentView document, const Emit& emit) {
  Slots slots = start(spec, document), complete;
  Expansion expansion([&](const Slots& around) { complete = around; });
  expansion.run(slots);
  for (size_t i = 0; i < spec.fields.size(); ++i) {
    if (!(expansion.multikey_fields >> i & 1)) continue;
    throw base::OperationError(7246301,
                               "The field '" + spec.fields[i].path +
                                   "' of a compound wildcard index cannot have an array; only the wildcard's fields can");
  }
  // No array multiplies the fields around, so there is one set of them.
  Slot& slot = complete[spec.wildcard->position];
  slot.found = false;
  slot.at = ValueView(Type::min_key, {});
  std::set<std::string> arrays;
  each_leaf(
      *spec.wildcard, document,
      [&](std::string_view path, const ValueView& value) {
        slot.found = true;
        slot.at = value;
        slot.name = path;
        emit(complete);
      },
      arrays);
  if (!slot.found && complete.size() > 1) emit(complete);
  return arrays;
}

}  // namespace

size_t IndexKeys::bytes() const {
  size_t sum = 0;
  for (const Bytes& key : keys) sum += key.size();
  for (const Bytes& its_types : types) sum += its_types.size();
  return sum;
}

void IndexKeys::add(Bytes key, Bytes its_types) {
  if (!its_types.empty() && types.empty()) types.resize(keys.size());
  if (!its_types.empty() || !types.empty()) types.push_back(std::move(its_types));
  keys.push_back(std::move(key));
}

void IndexKeys::clear() {
  keys.clear();
  types.clear();
  multikey_fields = 0;
  multikey_paths.clear();
}

EntryChanges entry_changes(const IndexKeys& before, const IndexKeys& after) {
  EntryChanges changes;
  size_t i = 0, j = 0;
  while (i < before.keys.size() || j < after.keys.size()) {
    const int order = i == before.keys.size() ? 1 : j == after.keys.size() ? -1 : before.keys[i].compare(after.keys[j]);
    const bool same = order == 0 && before.types_at(i) == after.types_at(j);
    if (order <= 0 && !same) (order < 0 ? changes.gone : changes.were).add(before.keys[i], Bytes(before.types_at(i)));
    if (order >= 0 && !same) (order > 0 ? changes.come : changes.are).add(after.keys[j], Bytes(after.types_at(j)));
    i += order <= 0;
    j += order >= 0;
  }
  changes.come.multikey_fields = after.multikey_fields;
  changes.come.multikey_paths = after.multikey_paths;
  return changes;
}

FieldValues field_values(const IndexField& field, DocumentView document) {
  FieldValues out;
  Slots slots(1);
  slots[0].at = ValueView(Type::object, document.bytes());
  slots[0].rest = field.path;
  Expansion expansion([&](const Slots& complete) { out.values.push_back(indexed_value(complete[0])); });
  expansion.run(slots);
  out.array = expansion.multikey_fields != 0;
  return out;
}

void index_keys(const IndexSpec& spec, DocumentView document, IndexKeys& out, KeyLimits limits) {
  out.clear();
  if (spec.text) return text_keys(spec, document, out);
  Collector collector(spec, document, limits, out);
  if (spec.geo) {
    for (LocatedKey& key : located_keys(spec, document, out.multikey_fields, limits.bytes)) collector(std::move(key.bytes), {});
    return collector.finish();
  }
  if (spec.wildcard) {
    const auto arrays = wildcard_slots(spec, document, [&](const Slots& complete) { append_key(spec, complete, collector); });
    if (!arrays.empty()) out.multikey_fields = uint32_t{1} << spec.wildcard->position;
    out.multikey_paths.assign(arrays.begin(), arrays.end());
    return collector.finish();
  }
  // Most indexes are on one plain field that holds no array, so this case is handled first.
  if (spec.fields.size() == 1 && spec.fields[0].kind == FieldKind::ordered &&
      spec.fields[0].path.find('.') == std::string::npos) {
    const Element value = document.find(spec.fields[0].path);
    if (!value.is_array()) {
      if (!value.exists() && spec.sparse) return;
      bson::KeyString key;
      bson::KeyTypes types;
      key.append(value.exists() ? static_cast<ValueView>(value) : ValueView(Type::null, {}), spec.fields[0].descending,
                 spec.collator.get());
      value.exists() ? types.add(value) : types.add_missing(0);
      out.add(std::move(key).bytes(), types.take());
      return;
    }
  }
  Slots slots = start(spec, document);
  Expansion expansion([&](const Slots& complete) { append_key(spec, complete, collector); });
  expansion.run(slots);
  out.multikey_fields = expansion.multikey_fields;
  if (out.multikey_fields) refuse_arrays(spec, out.multikey_fields);
  collector.finish();
}

bson::Document index_key_values(const IndexSpec& spec, DocumentView document, BytesView key) {
  if (spec.text) return text_key_values(spec, document, key);
  std::optional<bson::Document> values;
  if (spec.geo) {
    uint32_t multikey_fields = 0;
    for (const LocatedKey& one : located_keys(spec, document, multikey_fields)) {
      if (one.bytes != key) continue;
      bson::Builder builder;
      for (size_t i = 0; i < spec.fields.size(); ++i) builder.append(spec.fields[i].path, one.values[i]);
      return builder.done();
    }
    return {};
  }
  const auto find = [&](const Slots& complete) {
    if (values) return;
    bool same = false;
    append_key(spec, complete, [&](const Bytes& one, const Bytes&) { same = one == key; });
    if (!same) return;
    bson::Builder builder;
    for (size_t i = 0; i < complete.size(); ++i) {
      const ValueView value = indexed_value(complete[i]);
      if (spec.fields[i].kind == FieldKind::wildcard) {
        append_leaf(complete[i], builder);
      } else if (spec.fields[i].hashed()) {
        builder.append(spec.fields[i].path, hashed_field(value, spec.collator.get()));
      } else {
        builder.append(spec.fields[i].path, value);
      }
    }
    values = builder.done();
  };
  if (spec.wildcard) {
    wildcard_slots(spec, document, find);
  } else {
    Slots slots = start(spec, document);
    Expansion(find).run(slots);
  }
  return values ? std::move(*values) : bson::Document();
}

}  // namespace storage
