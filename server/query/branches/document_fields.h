// DocumentFields are the fields of a document by their paths, for those who compare versions of it field by field.
//
//   {_id: 1, a: {b: 2, c: []}, d: [1, 2]}   ->   _id, a.b, a.c, d
//
// Objects are followed into their fields; an empty object, and an array, are one field.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/bytes.h"
#include "bson/document.h"

namespace server::query {

class DocumentFields {
 public:
  DocumentFields() = default;
  explicit DocumentFields(base::Bytes document);

  size_t size() const { return fields_.size(); }
  const std::string& path(size_t field) const { return fields_[field].path; }
  const bson::Element& value(size_t field) const { return fields_[field].value; }
  // Returns whether the document has just this value, of the same type, under the path.
  bool has(const std::string& path, const bson::Element& value) const;

 private:
  struct Field {
    std::string path;
    bson::Element value;
  };
  void add(bson::DocumentView document, const std::string& before);

  std::unique_ptr<const base::Bytes> document_;  // the values point into it
  std::vector<Field> fields_;
  std::unordered_map<std::string, size_t> by_path_;
};

}  // namespace server::query
