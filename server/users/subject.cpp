#include "server/users/subject.h"

#include <set>
#include <string>

namespace server::users {
namespace {

// A comma within a value has a backslash before it. A plus joins several parts as one.
std::multiset<std::string> organization(std::string_view subject) {
  std::multiset<std::string> parts;
  std::string part;
  const auto end = [&] {
    for (const char* attribute : {"O=", "OU=", "DC="}) {
      if (part.starts_with(attribute)) parts.insert(part);
    }
    part.clear();
  };
  for (size_t i = 0; i < subject.size(); ++i) {
    if (subject[i] == '\\' && i + 1 < subject.size()) {
      part += subject[i];
      part += subject[++i];
    } else if (subject[i] == ',' || subject[i] == '+') {
      end();
    } else {
      part += subject[i];
    }
  }
  end();
  return parts;
}

}  // namespace

bool same_organization(std::string_view subject, std::string_view other) {
  const auto parts = organization(subject);
  return !parts.empty() && parts == organization(other);
}

}  // namespace server::users
