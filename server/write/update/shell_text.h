// These functions write fields as MongoDB's messages about updates do.
#pragma once

#include <string>

#include "server/core/text.h"

namespace server::write {

inline std::string shell_text(const bson::ValueView& value) {
  return query::show(value);
}
inline std::string shell_text(bson::DocumentView document) {
  return query::show(document);
}

// Returns "a: 1".
inline std::string shell_field(std::string_view name, const bson::ValueView& value) {
  return query::show_element(bson::Element(name, value));
}
// Returns "{a: 1}".
inline std::string shell_braced(std::string_view name, const bson::ValueView& value) {
  return "{" + shell_field(name, value) + "}";
}

}  // namespace server::write
