#include "base/uuid.h"

#include "base/random.h"

namespace base {

Bytes random_uuid() {
  Bytes uuid;
  append_le(uuid, entropy64());
  append_le(uuid, entropy64());
  uuid[6] = static_cast<char>((uuid[6] & 0x0f) | 0x40);
  uuid[8] = static_cast<char>((uuid[8] & 0x3f) | 0x80);
  return uuid;
}

}  // namespace base
