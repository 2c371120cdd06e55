#include "server/query/match/path.h"

#include "bson/path.h"

namespace server::query::match {

Path::Path(std::string_view text) : text_(text), parts_(bson::split_path(text_)) {
  if (parts_.empty()) parts_.emplace_back(text_);
}

}  // namespace server::query::match
