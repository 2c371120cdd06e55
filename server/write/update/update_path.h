// An UpdatePath is the dotted path of a modifier, with `$`, `$[]` and
// `$[identifier]` in it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace server::write {

struct UpdatePath {
  std::string dotted;
  std::vector<std::string> components;

  // Returns `components[0 .. count)` as MongoDB shows them in messages.
  std::string prefix(size_t count) const;
};

// Throws EmptyFieldName (56) and, for a path that can't be updated, BadValue or Overflow (it has too many parts).
UpdatePath parse_update_path(std::string_view dotted);

inline bool is_positional(std::string_view component) {
  return component == "$";
}
bool is_filtered(std::string_view component);  // $[…]
inline std::string_view filter_identifier(std::string_view component) {
  return component.substr(2, component.size() - 3);
}

// Returns the position that a name means in an array: "0", "12" and "012" are positions; "-1" isn't, nor anything above 32 bits.
std::optional<size_t> array_index(std::string_view component);

// Orders names as updates add fields: runs of digits by their value, everything else by bytes ("a2" before "a10").
struct FieldNameLess {
  using is_transparent = void;
  bool operator()(std::string_view a, std::string_view b) const;
};

}  // namespace server::write
