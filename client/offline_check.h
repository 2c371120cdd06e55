// `palimpsest check` reads a directory in a process of its own, since damage may end that process.
#pragma once

#include <filesystem>
#include <string>

#include "storage/engine/encryption_options.h"

namespace CLI {
class App;
}

namespace client {

struct CheckOptions {
  storage::EncryptionOptions encryption;
  std::string scratch;  // empty: the directory for temporary files
  double cache_gigabytes = 0.25;

  void add_options(CLI::App& verb);
};

// Prints what is damaged, or that nothing is. Returns the exit code: 0 sound, 1 damaged, 2 it can't be checked.
int check_directory(const std::filesystem::path& directory, const CheckOptions& options, bool json);

}  // namespace client
