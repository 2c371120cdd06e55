#include "server/users/key_file.h"

#include <sys/stat.h>
#include <unistd.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "base/error.h"

namespace server::users {
namespace {

constexpr size_t key_min = 6, key_max = 1024, keys_max = 2;

[[noreturn]] void refuse(const std::string& path, const std::string& why) {
  throw base::OperationError(base::ErrorCode::bad_value, "error opening file: " + path + ": " + why);
}

std::string read_key(const std::string& path, const std::string& text) {
  std::string key;
  for (const char c : text) {
    if (std::isspace(static_cast<unsigned char>(c))) continue;
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '+' && c != '/' && c != '=')
      refuse(path, "invalid char in key file");
    key += c;
  }
  if (key.size() < key_min || key.size() > key_max) {
    refuse(path, "security key must have between " + std::to_string(key_min) + " and " + std::to_string(key_max) +
                     " characters, but it has " + std::to_string(key.size()));
  }
  return key;
}

}  // namespace

std::vector<std::string> keys_in(const std::string& text, const std::string& path) {
  std::vector<std::string> keys;
  try {
    const YAML::Node node = YAML::Load(text);
    if (node.IsSequence()) {
      for (const auto& each : node) keys.push_back(read_key(path, each.as<std::string>()));
    }
  } catch (const YAML::Exception&) {
    keys.clear();  // one key may well be no YAML
  }
  if (keys.empty()) keys.push_back(read_key(path, text));
  if (keys.size() > keys_max) refuse(path, "it has more than " + std::to_string(keys_max) + " keys");
  return keys;
}

std::vector<std::string> read_key_file(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) refuse(path, "No such file or directory");
  if (!S_ISREG(status.st_mode)) refuse(path, "it is no file");
  // Root may have left the file to a group, as containers do.
  if ((status.st_mode & (S_IRWXG | S_IRWXO)) != 0 && status.st_uid != 0) refuse(path, "permissions on the key file are too open");
  if (status.st_uid == 0 && ((status.st_mode & S_IRWXO) != 0 || (status.st_mode & (S_IWGRP | S_IXGRP)) != 0))
    refuse(path, "permissions on the key file are too open");
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file) refuse(path, "it can't be read");
  return keys_in(text.str(), path);
}

}  // namespace server::users
