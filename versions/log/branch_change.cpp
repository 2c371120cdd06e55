#include "versions/log/branch_change.h"

namespace versions::log {

namespace {

// Tries the alternatives of the variant by their names, from the first on.
template <size_t at = 0>
BranchChange decode(std::string_view name, bson::DocumentView command) {
  if constexpr (at == std::variant_size_v<BranchChange>) {
    refuse("the log has an unknown entry about branches: '" + std::string(name) + "'");
  } else {
    using Entry = std::variant_alternative_t<at, BranchChange>;
    if (name == Entry::name) return Entry::decode(command);
    return decode<at + 1>(name, command);
  }
}

template <size_t... at>
bool is_name(std::string_view name, std::index_sequence<at...>) {
  return ((name == std::variant_alternative_t<at, BranchChange>::name) || ...);
}

}  // namespace

bool is_branch_change(bson::DocumentView command) {
  return is_name(Fields(command).name(), std::make_index_sequence<std::variant_size_v<BranchChange>>());
}

BranchChange decode_branch_change(bson::DocumentView command) {
  return decode(Fields(command).name(), command);
}

}  // namespace versions::log
