#include "server/write/update/operators.h"

#include <algorithm>
#include <array>

#include "server/write/update/operators/families.h"

namespace server::write {

namespace {

constexpr std::array<std::pair<std::string_view, ModifierFactory>, 14> operators = {{
    {"$addToSet", make_add_to_set},
    {"$bit", make_bit},
    {"$currentDate", make_current_date},
    {"$inc", make_inc},
    {"$max", make_max},
    {"$min", make_min},
    {"$mul", make_mul},
    {"$pop", make_pop},
    {"$pull", make_pull},
    {"$pullAll", make_pull_all},
    {"$push", make_push},
    {"$set", make_set},
    {"$setOnInsert", make_set_on_insert},
    {"$unset", make_unset},
}};

}  // namespace

std::vector<std::string_view> operator_names() {
  std::vector<std::string_view> names;
  for (const auto& [name, make] : operators) names.push_back(name);
  return names;
}

ModifierFactory find_operator(std::string_view name) {
  const auto found = std::find_if(operators.begin(), operators.end(), [&](const auto& entry) { return entry.first == name; });
  return found == operators.end() ? nullptr : found->second;
}

}  // namespace server::write
