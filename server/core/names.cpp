#include "server/core/names.h"

#include "bson/validate.h"

namespace server {

bool valid_database_name(std::string_view name) {
  const std::string_view plain = name.substr(0, name.find('@'));
  if (plain.empty() || plain.size() > 63 || name.size() - plain.size() > 255 || !bson::is_utf8(name)) return false;
  return name.find_first_of(std::string_view("\0/\\. \"", 6)) == std::string_view::npos;
}

bool valid_collection_name(std::string_view name) {
  if (name.empty() || name.front() == '.' || !bson::is_utf8(name)) return false;
  return name.find_first_of(std::string_view("\0$", 2)) == std::string_view::npos;
}

}  // namespace server
