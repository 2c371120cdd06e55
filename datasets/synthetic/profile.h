// These are the thesis's four data sets by their numbers (dbDedup, table 6.1).
#pragma once

#include <optional>
#include <string_view>

namespace datasets {

struct Profile {
  std::string_view name;
  double record_bytes;     // of the body text
  double change_bytes;     // replaced, inserted or cut out at one place
  double change_distance;  // the bytes from one changed place to the next
  double changes;          // places changed from one version to the next
  double versions;         // records that grow out of one another, on average (not in the table)
};

inline constexpr Profile profiles[] = {
    {"wikipedia", 15875, 77, 3602, 4.3, 20},
    {"enron", 2849, 56, 864, 3.1, 3},
    {"stackexchange", 936, 79, 83, 5.8, 3},
    {"boards", 308, 42, 37, 3.9, 3},
};

inline std::optional<Profile> find_profile(std::string_view name) {
  for (const Profile& profile : profiles) {
    if (profile.name == name) return profile;
  }
  return std::nullopt;
}

}  // namespace datasets
