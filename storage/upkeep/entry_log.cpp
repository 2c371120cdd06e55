#include "storage/upkeep/entry_log.h"

namespace storage {

std::string text_of(Stamp stamp) {
  return "Timestamp(" + std::to_string(stamp >> 32) + ", " + std::to_string(static_cast<uint32_t>(stamp)) + ")";
}

}  // namespace storage
