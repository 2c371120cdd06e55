// The grammar of what clients send: documents, expressions, filters, updates, stages and commands, of mostly valid shapes.
//
// It asks the registries for the operators and stages that there are. Those with arguments of their own have their shapes in
// query_grammar.cpp; any other one gets the arguments of its family, so new ones are made without a change here.
// query_grammar_test.cpp fails if one is never accepted: then it wants a shape.
//
//   rules    document · expression · filter · projection · sort · update · pipeline · command
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "bson/testing/grammar.h"

namespace server::testing {

const bson::testing::Grammar& query_grammar();

// The rule of one operator or stage, for example "expression $add".
std::string rule_of(const std::string& kind, std::string_view name);

// Tells whether what was made may give another result each time.
bool is_random(const bson::ValueView& made);

// Ends the process, as base::check does, and says what was made.
void check_made(bool holds, std::string_view what, std::initializer_list<bson::ValueView> made);

// Bytes that choose at random: so many inputs of so many bytes.
std::vector<base::Bytes> random_choices(uint64_t seed, size_t inputs, size_t bytes);

// The seeds of a fuzz target: of that many random choices the first dozen that `run` accepts.
std::vector<base::Bytes> accepted_choices(uint64_t seed, size_t inputs, size_t bytes, bool (*run)(base::BytesView input));

}  // namespace server::testing
