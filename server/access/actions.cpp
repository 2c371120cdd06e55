#include "server/access/actions.h"

#include <algorithm>
#include <array>

namespace server::access {
namespace {

constexpr std::array<std::string_view, action_count> names = {
#define X(name) #name,
    PALIMPSEST_ACTIONS(X)
#undef X
};

}  // namespace

std::string_view action_name(Action action) {
  return names[static_cast<size_t>(action)];
}

std::optional<Action> find_action(std::string_view name) {
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) return std::nullopt;
  return static_cast<Action>(found - names.begin());
}

}  // namespace server::access
