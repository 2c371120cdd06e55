// The data directory describes itself: the file palimpsest.json, which is written before anything else, names the format and its
// version.
#pragma once

#include <memory>
#include <string>

#include "storage/engine/encryption.h"

namespace storage {

inline constexpr int directory_version = 3;
inline constexpr int encrypted_directory_version = 4;  // the marker has the wrapped data key, too
inline constexpr char directory_file[] = "palimpsest.json";
inline constexpr char directory_copy_file[] = "palimpsest.copy.json";  // without the wrapped key nothing can be decrypted

// Makes the directory and its marker file, or checks the marker that is there. Returns what the directory is encrypted with, or
// nullptr. Throws UnsupportedFormat for a newer version, for a damaged marker, and for a directory that holds somebody else's
// files; BadValue if the directory is encrypted and `encryption` isn't enabled, or the other way round, and for a key file that
// holds no key; OperationFailed for another key than the directory's. `repair`: a marker that is missing or damaged is restored
// from its copy first.
std::shared_ptr<const Encryption> prepare_directory(const std::string& path, const EncryptionOptions& encryption = {},
                                                    bool repair = false);

// Wraps the directory's data key with the master key of `encryption.new_key_file` from now on. Nobody has the directory open.
// Throws as prepare_directory does.
void change_master_key(const std::string& path, const EncryptionOptions& encryption);

// If both directories are encrypted, the first one takes the second one's wrapped data key, and is opened by its master key from
// then on. They must be copies of one directory; the first can't be opened otherwise. Throws as prepare_directory does.
void take_wrapped_key(const std::string& path, const std::string& from);

// A file of an encrypted directory that a person may want to read ends so; read_sealed_file reads it. Throws as prepare_directory
// does, and DataCorruptionDetected if the file was changed or is another directory's.
inline constexpr char sealed_suffix[] = ".sealed";
base::Bytes read_sealed_file(const std::string& path, const EncryptionOptions& encryption, const std::string& file);

// Writes a file of the directory. The file is written whole or not at all, and it survives a power loss once this returns. Throws
// OutOfDiskSpace.
void write_file(const std::string& directory, const std::string& name, const std::string& text);

// Removes a file of the directory, which need not be there. It stays away after a power loss once this returns. Throws
// OperationError.
void remove_file(const std::string& directory, const std::string& name);

}  // namespace storage
