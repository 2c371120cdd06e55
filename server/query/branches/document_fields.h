// DocumentFields are the fields of a document by their paths, for those who compare versions of it field by field.
//
//   {_id: 1, a: {b: 2, c: []}, d: [1, 2]}   ->   _id, a.b, a.c, d
//
// Objects are followed into their fields; an empty object, and an array, are one field.
//
// Fields of one object share the names that lead to it, and a path is put together when it is asked for: the paths of a document
// may be far longer than the document.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "bson/document.h"
#include "server/core/allowance.h"

namespace server::query {

class DocumentFields {
 public:
  // The allowance, which must live as long, accounts for all calls and for what is kept. They throw what it throws.
  DocumentFields(bson::Document document, Allowance& allowance);

  size_t size() const { return fields_.size(); }
  std::string path(size_t field) const;
  // Returns for each field whether the other document has just this value, of the same type, under the same names.
  std::vector<bool> same_in(bson::DocumentView other) const;

 private:
  struct Name {
    size_t object;  // a place in objects_
    std::string_view name;
    bool operator==(const Name&) const = default;
  };
  struct NameHash {
    size_t operator()(const Name& name) const {
      return std::hash<std::string_view>()(name.name) + name.object * 0x9e3779b97f4a7c15;
    }
  };
  struct Field {
    size_t object;
    bson::Element value;
  };
  using Places = std::unordered_map<Name, size_t, NameHash>;

  void add(bson::DocumentView document, size_t object, Growth& growth);
  void mark_same(bson::DocumentView other, size_t object, std::vector<bool>& same, std::vector<bool>& met) const;

  Allowance& allowance_;
  Held held_;
  const bson::Document document_;  // names and values point into it
  std::vector<Name> objects_;      // the first one is the document; the others come after those that they lie in
  std::vector<Field> fields_;
  Places object_places_, field_places_;
};

}  // namespace server::query
