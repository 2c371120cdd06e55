// A filter's path meets a document: objects are entered by name, arrays are fanned out, and a number may also name a position in
// an array.
//
//   path "a.b"   {a: {b: 1}}               1
//                {a: [{b: 1}, {b: [2, 3]}]}  1, 2, 3, [2, 3]
//                {a: 5}, {}, {a: [{}]}     a missing value
//                {a: [1, 2]}, {a: []}      nothing at all
//   path "a.0"   {a: [7, 8]}               7
//
// An element that is reached by its position is passed on as it is, even if it is an array itself.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bson/document.h"

namespace server::query::match {

enum class LeafArray {
  expand,  // the elements of an array at the end, then the array
  whole,   // just the array
};

// A Path is a dotted path, split once.
class Path {
 public:
  explicit Path(std::string_view text);
  Path(const Path&) = delete;
  Path& operator=(const Path&) = delete;

  const std::string& text() const { return text_; }

  // Calls visit(value, outer) until it returns true, and returns whether it did. `outer` is the outermost array position on the
  // way ("3"), empty if there was none.
  template <class Visit>
  bool walk(bson::DocumentView document, LeafArray leaf, Visit&& visit) const {
    return walk_object(document, parts_, leaf, {}, visit);
  }
  // The same for the document whose field `first_part()` this is; a missing value if it has none.
  template <class Visit>
  bool walk_from(const bson::Element& field, LeafArray leaf, Visit&& visit) const {
    return walk_field(field, parts_, leaf, {}, visit);
  }
  std::string_view first_part() const { return parts_.front(); }
  bool is_single() const { return parts_.size() == 1; }

 private:
  using Parts = std::span<const std::string_view>;

  template <class Visit>
  static bool walk_object(bson::DocumentView document, Parts parts, LeafArray leaf, std::string_view outer, Visit& visit) {
    return walk_field(document.find(parts.front()), parts, leaf, outer, visit);
  }

  template <class Visit>
  static bool walk_field(bson::Element field, Parts parts, LeafArray leaf, std::string_view outer, Visit& visit) {
    for (;;) {
      if (field.is_array()) return walk_array(field, parts.subspan(1), leaf, outer, visit);
      if (parts.size() == 1) return visit(static_cast<const bson::ValueView&>(field), outer);
      if (!field.is_object()) return visit(bson::ValueView(), outer);
      parts = parts.subspan(1);
      field = field.as_document().find(parts.front());
    }
  }

  template <class Visit>
  static bool walk_array(const bson::ValueView& array, Parts rest, LeafArray leaf, std::string_view outer, Visit& visit) {
    const bool at_end = rest.empty();
    if (!at_end || leaf == LeafArray::expand) {
      for (const bson::Element& element : array.as_document()) {
        const std::string_view position = outer.empty() ? element.name : outer;
        if (at_end ? visit(static_cast<const bson::ValueView&>(element), position)
                   : walk_element(element, rest, leaf, position, visit)) {
          return true;
        }
      }
    }
    return at_end && visit(array, outer);
  }

  template <class Visit>
  static bool walk_element(const bson::Element& element, Parts rest, LeafArray leaf, std::string_view position, Visit& visit) {
    if (element.is_object() && walk_object(element.as_document(), rest, leaf, position, visit)) return true;
    if (element.name != rest.front()) return false;
    if (rest.size() == 1) return visit(static_cast<const bson::ValueView&>(element), position);
    if (!element.is_object() && !element.is_array()) return false;
    return walk_object(element.as_document(), rest.subspan(1), leaf, position, visit);
  }

  std::string text_;
  std::vector<std::string_view> parts_;
};

}  // namespace server::query::match
