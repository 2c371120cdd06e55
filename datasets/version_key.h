// The version key is the field whose value the versions of one thing share, in the collections that loaders fill.
#pragma once

#include <string_view>

namespace datasets {

// Returns "page.id" for "revisions"; empty where documents aren't versions of anything.
inline std::string_view version_key(std::string_view collection) {
  if (collection == "revisions") return "page.id";
  if (collection == "files") return "path";
  return {};
}

}  // namespace datasets
