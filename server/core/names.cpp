#include "server/core/names.h"

#include <string>
#include <unordered_set>

#include "base/error.h"
#include "base/utf8.h"

namespace server {

bool valid_database_name(std::string_view name) {
  const std::string_view plain = name.substr(0, name.find('@'));
  if (plain.empty() || plain.size() > 63 || name.size() - plain.size() > 255 || !base::is_utf8(name)) return false;
  return name.find_first_of(std::string_view("\0/\\. \"", 6)) == std::string_view::npos;
}

bool valid_collection_name(std::string_view name) {
  if (name.empty() || name.front() == '.' || !base::is_utf8(name)) return false;
  return name.find_first_of(std::string_view("\0$", 2)) == std::string_view::npos;
}

bool valid_namespace(std::string_view database, std::string_view collection) {
  return valid_database_name(database) && valid_collection_name(collection);
}

std::optional<std::string_view> repeated_name(bson::DocumentView fields) {
  constexpr size_t few = 16;  // comparing so many names costs less than a set
  size_t looked_at = 0;
  std::unordered_set<std::string_view> names;
  for (auto at = fields.begin(); at != fields.end(); ++at, ++looked_at) {
    if (looked_at < few) {
      for (auto before = fields.begin(); before != at; ++before) {
        if (before->name == at->name) return at->name;
      }
      continue;
    }
    if (names.empty()) {
      for (auto before = fields.begin(); before != at; ++before) names.insert(before->name);
    }
    if (!names.insert(at->name).second) return at->name;
  }
  return std::nullopt;
}

void refuse_repeated(std::string_view path, bson::DocumentView fields) {
  if (const auto name = repeated_name(fields)) {
    throw base::OperationError(40413, "BSON field '" + std::string(path) + "." + std::string(*name) + "' is a duplicate field");
  }
}

}  // namespace server
