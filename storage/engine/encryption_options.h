// EncryptionOptions are what the owner of a data directory says about its encryption.
#pragma once

#include <string>

namespace storage {

struct EncryptionOptions {
  bool enabled = false;
  std::string key_file;      // the master key: 32 bytes in base64
  std::string new_key_file;  // another master key, which wraps the data key from now on; empty: it stays
};

}  // namespace storage
