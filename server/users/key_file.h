// A key file has the secret that the members of a set share: 6 to 1,024 characters of base64. White space doesn't count.
//
// It may have two keys, as a list of YAML: members then take either, and send the first. So a key changes while the set runs.
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

namespace server::users {

// Returns the keys. Throws OperationError (BadValue) for a file that can't be read, that others than its owner may read, or that
// has no sound key.
std::vector<std::string> read_key_file(const std::string& path);
// Returns the keys in the text of such a file, whose path the errors name.
std::vector<std::string> keys_in(const std::string& text, const std::string& path);

}  // namespace server::users
