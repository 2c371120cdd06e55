#include "dedup/content.h"

namespace dedup {

std::string to_string(const ContentId& id) {
  return std::to_string(id.collection) + ":" + std::to_string(id.record) + "@" + std::to_string(id.generation);
}

}  // namespace dedup
