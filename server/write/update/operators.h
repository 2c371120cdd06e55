// The update operators by name. One family a file under operators/; a new one
// adds its file and its line in operators.cpp.
#pragma once

#include <memory>
#include <string_view>

#include "server/write/update/modifier.h"

namespace server::write {

// Makes the modifier for `argument`, whose name is the path. Throws what
// MongoDB answers for an argument the operator can't take.
using ModifierFactory = std::shared_ptr<const Modifier> (*)(const bson::Element& argument, const PredicateCompiler& compile);

// nullptr: no such operator. $rename has two paths and is the parser's own (update.cpp).
ModifierFactory find_operator(std::string_view name);

// Both ends of a rename; `source` is taken from the document as it was.
std::shared_ptr<const Modifier> make_rename_source();
std::shared_ptr<const Modifier> make_rename_destination(std::string source);

}  // namespace server::write
