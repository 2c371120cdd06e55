#include "server/users/subject.h"

#include <catch2/catch.hpp>

namespace server::users {
namespace {

TEST_CASE("certificates of one set have the same O, OU and DC, in any order") {
  CHECK(same_organization("CN=a,OU=Data,O=Example", "O=Example,CN=b,OU=Data,C=DE"));
  CHECK(same_organization("DC=net,DC=example", "DC=example+CN=x,DC=net"));
  CHECK_FALSE(same_organization("CN=a,OU=Data,O=Example", "CN=a,O=Example"));
  CHECK_FALSE(same_organization("OU=Data,OU=Data", "OU=Data"));
  CHECK_FALSE(same_organization("CN=a,C=DE", "CN=a,C=DE"));
  CHECK_FALSE(same_organization("", ""));
}

TEST_CASE("a comma within a value ends no part of a subject") {
  CHECK_FALSE(same_organization("CN=a\\,O=Example", "CN=b,O=Example"));
  CHECK_FALSE(same_organization("O=Example\\,OU=Data", "O=Example,OU=Data"));
  CHECK(same_organization("O=Example\\,OU=Data", "O=Example\\,OU=Data,CN=b"));
  CHECK_FALSE(same_organization("CN=a\\+O=Example", "O=Example"));
}

}  // namespace
}  // namespace server::users
