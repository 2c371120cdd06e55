// What each file of this folder contributes to the table in ../operators.cpp.
#pragma once

#include "server/write/update/operators.h"

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

}  // namespace server::write
