#include "server/query/branches/document_fields.h"

namespace server::query {

namespace {

bool is_followed(const bson::Element& element) {
  return element.is_object() && !element.as_document().empty();
}

}  // namespace

DocumentFields::DocumentFields(bson::Document document, Allowance& allowance)
    : allowance_(allowance), held_(allowance.memory()), document_(std::move(document)), objects_(1) {
  held_.set(document_.size());
  Growth growth(held_);
  add(document_, 0, growth);
}

void DocumentFields::add(bson::DocumentView document, size_t object, Growth& growth) {
  // A vector may have twice the room that it needs, and a map has a node and a bucket for each entry.
  constexpr size_t place_bytes = sizeof(Places::value_type) + 5 * sizeof(void*);
  constexpr size_t object_bytes = 2 * sizeof(Name) + place_bytes, field_bytes = 2 * sizeof(Field) + place_bytes;
  for (const bson::Element& element : document) {
    allowance_.work_on(element.name.size());
    const Name name{object, element.name};
    if (is_followed(element)) {
      const size_t place = object_places_.emplace(name, objects_.size()).first->second;
      if (place == objects_.size()) objects_.push_back(name);
      add(element.as_document(), place, growth);
    } else {
      field_places_.emplace(name, fields_.size());
      fields_.push_back({object, element});
    }
    growth.reach(objects_.size() * object_bytes + fields_.size() * field_bytes);
  }
}

std::string DocumentFields::path(size_t field) const {
  std::vector<std::string_view> names{fields_[field].value.name};
  for (size_t object = fields_[field].object; object != 0; object = objects_[object].object)
    names.push_back(objects_[object].name);
  std::string path;
  for (size_t i = names.size(); i-- > 0;) {
    allowance_.work_on(names[i].size());
    path += names[i];
    if (i > 0) path += '.';
  }
  return path;
}

std::vector<bool> DocumentFields::same_in(bson::DocumentView other) const {
  std::vector<bool> same(fields_.size()), met(fields_.size());
  mark_same(other, 0, same, met);
  return same;
}

void DocumentFields::mark_same(bson::DocumentView other, size_t object, std::vector<bool>& same, std::vector<bool>& met) const {
  for (const bson::Element& element : other) {
    allowance_.work_on(element.name.size());
    const Name name{object, element.name};
    if (is_followed(element)) {
      const auto known = object_places_.find(name);
      if (known != object_places_.end()) mark_same(element.as_document(), known->second, same, met);
    } else if (const auto known = field_places_.find(name); known != field_places_.end() && !met[known->second]) {
      met[known->second] = true;  // of several fields with one name the first counts
      const bson::Element& value = fields_[known->second].value;
      allowance_.work_on(value.bytes().size());
      same[known->second] = value.identical(element);
    }
  }
}

}  // namespace server::query
