#include <catch2/catch.hpp>

#include "tests/simulation/history.h"

using simulation::linearizable;
using simulation::RegisterOperation;
using simulation::set_fault;
using simulation::SetOperation;
using Kind = RegisterOperation::Kind;

TEST_CASE("a read after an acknowledged write must see it") {
  const RegisterOperation write{Kind::write, 1, 2, 7, 0, true};
  CHECK(linearizable({write, {Kind::read, 3, 4, 7, 0, true}}));
  CHECK_FALSE(linearizable({write, {Kind::read, 3, 4, 0, 0, true}}));
}

TEST_CASE("a write of unknown outcome may show late, and then stays") {
  const RegisterOperation lost{Kind::write, 1, std::nullopt, 7, 0, true};
  CHECK(linearizable({lost, {Kind::read, 2, 3, 0, 0, true}, {Kind::read, 4, 5, 7, 0, true}}));
  CHECK_FALSE(linearizable({lost, {Kind::read, 2, 3, 7, 0, true}, {Kind::read, 4, 5, 0, 0, true}}));
}

TEST_CASE("one of two compare-and-sets from the same value fails") {
  const RegisterOperation first{Kind::compare_and_set, 1, 5, 1, 0, true};
  CHECK(linearizable({first, {Kind::compare_and_set, 2, 6, 2, 0, false}}));
  CHECK_FALSE(linearizable({first, {Kind::compare_and_set, 2, 6, 2, 0, true}}));
}

TEST_CASE("a set never loses an element") {
  const SetOperation add{true, 1, 2, 9, {}};
  CHECK(set_fault({add, {false, 3, 4, 0, {9}}}).empty());
  CHECK_FALSE(set_fault({add, {false, 3, 4, 0, {}}}).empty());
  CHECK_FALSE(set_fault({{true, 1, std::nullopt, 9, {}}, {false, 2, 3, 0, {9}}, {false, 4, 5, 0, {}}}).empty());
  CHECK_FALSE(set_fault({{true, 1, 9, 1, {}}, {true, 1, 9, 2, {}}, {false, 2, 8, 0, {1}}, {false, 2, 8, 0, {2}}}).empty());
}
