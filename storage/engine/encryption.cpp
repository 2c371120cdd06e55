#include "storage/engine/encryption.h"

#include <sys/stat.h>
#include <wiredtiger.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>

#include "base/error.h"
#include "base/log.h"
#include "bson/json.h"

namespace storage {

using base::Bytes;
using base::BytesView;
using base::Cipher;
using base::ErrorCode;
using base::OperationError;

namespace {

constexpr char encryptor_name[] = "aes256-gcm";
constexpr char cipher_name[] = "AES256-GCM";
constexpr size_t key_file_bytes_max = 4096;

// wiredtiger_open finds the extension's function by name and gives it nothing else.
thread_local const Encryption* opening = nullptr;

BytesView view(const uint8_t* bytes, size_t size) {
  return {reinterpret_cast<const char*>(bytes), size};
}

[[noreturn]] void bad_key(const std::string& file, const std::string& why) {
  throw OperationError(ErrorCode::bad_value, "the encryption key file " + file + " " + why);
}

}  // namespace

struct Encryption::Pages {
  explicit Pages(BytesView key) : cipher(key) {
    interface.encrypt = encrypt;
    interface.decrypt = decrypt;
    interface.sizing = sizing;
  }

  static const Cipher& of(WT_ENCRYPTOR* encryptor) { return reinterpret_cast<Pages*>(encryptor)->cipher; }

  static int encrypt(WT_ENCRYPTOR* self, WT_SESSION*, uint8_t* from, size_t size, uint8_t* to, size_t room, size_t* made) {
    *made = size + Cipher::overhead;
    if (room < *made) return ENOMEM;
    try {
      of(self).seal(view(from, size), reinterpret_cast<char*>(to));
      return 0;
    } catch (const OperationError&) {  // WiredTiger accepts only a number
      return WT_ERROR;
    }
  }

  // WiredTiger has compared the block's checksum before. If the tag is wrong all the same, somebody wrote the block who lacks the
  // key, or the block is another directory's: it is damaged like one with a wrong checksum.
  static int decrypt(WT_ENCRYPTOR* self, WT_SESSION*, uint8_t* from, size_t size, uint8_t* to, size_t room, size_t* made) {
    if (size < Cipher::overhead || room < size - Cipher::overhead) return WT_ERROR;
    *made = size - Cipher::overhead;
    try {
      return of(self).open(view(from, size), reinterpret_cast<char*>(to)) ? 0 : WT_ERROR;
    } catch (const OperationError&) {
      return WT_ERROR;
    }
  }

  static int sizing(WT_ENCRYPTOR*, WT_SESSION*, size_t* more) {
    *more = Cipher::overhead;
    return 0;
  }

  WT_ENCRYPTOR interface {};  // the first member: WiredTiger hands its address back
  const Cipher cipher;
};

Encryption::Encryption(BytesView data_key)
    : files_(base::derived_key(data_key, "palimpsest files")),
      pages_(std::make_unique<Pages>(base::derived_key(data_key, "palimpsest pages"))) {}

Encryption::~Encryption() {
  if (opening == this) opening = nullptr;
}

std::string Encryption::configuration() const {
  opening = this;
  return std::string(",encryption=(name=") + encryptor_name + ")";
}

std::string Encryption::extension() const {
  return "local={entry=palimpsest_register_encryptor}";
}

int Encryption::register_with(WT_CONNECTION* connection) const {
  return connection->add_encryptor(connection, encryptor_name, &pages_->interface, nullptr);
}

Bytes read_master_key(const std::string& file) {
  struct stat figures {};
  if (::stat(file.c_str(), &figures) != 0) bad_key(file, std::string("can't be read: ") + std::strerror(errno));
  if ((figures.st_mode & (S_IRWXG | S_IRWXO)) != 0) bad_key(file, "has permissions that are too open: others may read it");
  std::ifstream in(file, std::ios::binary);
  Bytes text(key_file_bytes_max, '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<size_t>(in.gcount()));
  std::erase_if(text, [](char c) { return c == '\n' || c == '\r' || c == ' ' || c == '\t'; });
  const auto key = bson::base64_decode(text);
  if (!key || key->size() != Cipher::key_bytes) bad_key(file, "doesn't hold 32 bytes in base64");
  return *key;
}

std::string wrap_data_key(BytesView data_key, BytesView master_key) {
  const Cipher master(base::derived_key(master_key, "palimpsest data key"));
  return std::string("{\"cipher\": \"") + cipher_name + "\", \"key\": \"" + bson::base64_encode(master.seal(data_key)) + "\"}";
}

Bytes unwrap_data_key(const std::string& marker, BytesView master_key) {
  auto parsed = bson::from_json(marker);
  const auto field = parsed ? parsed->find("encryption") : bson::Element();
  const auto cipher = field.is_object() ? field.as_document().find("cipher") : bson::Element();
  const auto key = field.is_object() ? field.as_document().find("key") : bson::Element();
  const auto wrapped = key.is_string() ? bson::base64_decode(key.as_string()) : std::nullopt;
  if (!cipher.is_string() || cipher.as_string() != cipher_name || !wrapped)
    throw OperationError(ErrorCode::unsupported_format, "the data directory's wrapped data key is damaged, or of another cipher");
  const Cipher master(base::derived_key(master_key, "palimpsest data key"));
  const auto data_key = master.open(*wrapped);
  if (!data_key || data_key->size() != Cipher::key_bytes) {
    throw OperationError(ErrorCode::operation_failed,
                         "the master key in the encryption key file isn't the one that the data directory was encrypted with");
  }
  return *data_key;
}

}  // namespace storage

// wiredtiger_open calls this function, which it finds by name, so no header declares it.
extern "C" __attribute__((visibility("default"))) int palimpsest_register_encryptor(WT_CONNECTION* connection, WT_CONFIG_ARG*);

int palimpsest_register_encryptor(WT_CONNECTION* connection, WT_CONFIG_ARG*) {
  return storage::opening ? storage::opening->register_with(connection) : WT_ERROR;
}
