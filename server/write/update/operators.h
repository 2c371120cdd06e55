// This table has the update operators by name. Each family is a file under
// operators/; a new one adds its file there and its line in operators.cpp.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "server/write/update/modifier.h"

namespace server::write {

// Makes the modifier for `argument`, whose name is the path. Throws MongoDB's
// error if the operator can't take the argument.
using ModifierFactory = std::shared_ptr<const Modifier> (*)(const bson::Element& argument, const PredicateCompiler& compile);

// Returns nullptr if there is no such operator. $rename has two paths and is the parser's own (update.cpp).
ModifierFactory find_operator(std::string_view name);
// Returns the names of all operators in the table.
std::vector<std::string_view> operator_names();

}  // namespace server::write
