// The input is the text of a key file. It is refused, or has one key or two, each of 6 to 1,024 characters of base64.
#include <algorithm>
#include <cctype>

#include "base/fuzz_target.h"
#include "server/users/key_file.h"

namespace {

bool run(base::BytesView input) {
  std::vector<std::string> keys;
  if (base::refuses([&] { keys = server::users::keys_in(std::string(input), "key"); })) return false;
  base::check(keys.size() == 1 || keys.size() == 2);
  for (const std::string& key : keys) {
    base::check(key.size() >= 6 && key.size() <= 1024);
    base::check(
        std::all_of(key.begin(), key.end(), [](unsigned char c) { return std::isalnum(c) || c == '+' || c == '/' || c == '='; }));
    base::check(server::users::keys_in(key + "\n", "key") == std::vector<std::string>{key});
  }
  return true;
}

std::vector<base::Bytes> seeds() {
  return {"c2VjcmV0IGtleQ==\n", "two lines\nof one key\n", "- firstKey\n- secondKey\n", "['firstKey', \"secondKey\"]"};
}

const base::FuzzTarget target("key_file", run, seeds);

}  // namespace
