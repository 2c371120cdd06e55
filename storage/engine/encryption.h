// Encryption at rest: what of a directory's data key the engine and the layers above use.
//
//   master key (the owner's file)  wraps  data key (palimpsest.json)  makes  one key for pages, one for other files
//
// So another master key costs one small file, and no page is written again. docs/formats/encryption.md has the bytes.
#pragma once

#include <memory>
#include <string>

#include "base/cipher.h"
#include "storage/engine/encryption_options.h"

struct __wt_connection;

namespace storage {

class Encryption {
 public:
  explicit Encryption(base::BytesView data_key);
  ~Encryption();
  Encryption(const Encryption&) = delete;
  Encryption& operator=(const Encryption&) = delete;

  // This cipher is for files beside the engine's own: dictionaries, temporary files, files of a rollback.
  const base::Cipher& files() const { return files_; }

  // Makes wiredtiger_open on this thread use this object; it lives longer than the connection. Returns the configuration, and the
  // entry of the list of extensions.
  std::string configuration() const;
  std::string extension() const;

  int register_with(__wt_connection* connection) const;  // only wiredtiger_open calls it

 private:
  struct Pages;
  const base::Cipher files_;
  const std::unique_ptr<Pages> pages_;
};

// Returns the 32 bytes that the file has in base64. Throws BadValue for any other file, and for one that others may read.
base::Bytes read_master_key(const std::string& file);

// Returns the field `encryption` of a directory's marker: the data key, wrapped.
std::string wrap_data_key(base::BytesView data_key, base::BytesView master_key);
// Takes the marker's text. Throws UnsupportedFormat if the field is damaged, and OperationFailed for another master key.
base::Bytes unwrap_data_key(const std::string& marker, base::BytesView master_key);

}  // namespace storage
