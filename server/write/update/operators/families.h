// The files of this folder make these modifiers; ../operators.cpp lists the operators by name.
#pragma once

#include <memory>
#include <string>

#include "server/write/update/modifier.h"

namespace server::write {

std::shared_ptr<const Modifier> make_add_to_set(const bson::Element& argument, const PredicateCompiler& compile);
std::shared_ptr<const Modifier> make_bit(const bson::Element& argument, const PredicateCompiler& compile);
std::shared_ptr<const Modifier> make_current_date(const bson::Element& argument, const PredicateCompiler& compile);
std::shared_ptr<const Modifier> make_inc(const bson::Element& argument, const PredicateCompiler& compile);
std::shared_ptr<const Modifier> make_max(const bson::Element& argument, const PredicateCompiler& compile);
std::shared_ptr<const Modifier> make_min(const bson::Element& argument, const PredicateCompiler& compile);
std::shared_ptr<const Modifier> make_mul(const bson::Element& argument, const PredicateCompiler& compile);
std::shared_ptr<const Modifier> make_pop(const bson::Element& argument, const PredicateCompiler& compile);
std::shared_ptr<const Modifier> make_pull(const bson::Element& argument, const PredicateCompiler& compile);
std::shared_ptr<const Modifier> make_pull_all(const bson::Element& argument, const PredicateCompiler& compile);
std::shared_ptr<const Modifier> make_push(const bson::Element& argument, const PredicateCompiler& compile);
std::shared_ptr<const Modifier> make_set(const bson::Element& argument, const PredicateCompiler& compile);
std::shared_ptr<const Modifier> make_set_on_insert(const bson::Element& argument, const PredicateCompiler& compile);
std::shared_ptr<const Modifier> make_unset(const bson::Element& argument, const PredicateCompiler& compile);

// The modifiers of both ends of a rename; `source` is taken from the document as it was.
std::shared_ptr<const Modifier> make_rename_source();
std::shared_ptr<const Modifier> make_rename_destination(std::string source);

}  // namespace server::write
