// The data directory says what it is: palimpsest.json, written before anything
// else, names the format and its version.
#pragma once

#include <string>

namespace storage {

inline constexpr int directory_version = 3;
inline constexpr char directory_file[] = "palimpsest.json";

// Makes the directory and its marker, or checks the one that is there. Throws
// UnsupportedFormat for a newer version, a damaged marker, or a directory with
// somebody else's files in it.
void prepare_directory(const std::string& path);

// Writes a file of the directory: whole or not at all, and there after a power loss. Throws OutOfDiskSpace.
void write_file(const std::string& directory, const std::string& name, const std::string& text);

}  // namespace storage
