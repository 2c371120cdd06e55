// The data directory says what it is: palimpsest.json, written before anything
// else, names the format and its version.
#pragma once

#include <string>

namespace storage {

inline constexpr int directory_version = 4;
inline constexpr int directory_version_oldest = 3;  // without sorted pages (column_block.h)
inline constexpr char directory_file[] = "palimpsest.json";

// Makes the directory and its marker, or checks the one that is there. One of an
// older version that can be read becomes one of this. Throws UnsupportedFormat for
// any other version, a damaged marker, or a directory with somebody else's files in it.
void prepare_directory(const std::string& path);

// Writes a file of the directory: whole or not at all, and there after a power loss. Throws OutOfDiskSpace.
void write_file(const std::string& directory, const std::string& name, const std::string& text);

}  // namespace storage
