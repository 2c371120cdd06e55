// What databases and collections may be called.
#pragma once

#include <string>
#include <string_view>

namespace storage {

// "shop" of "shop.orders".
std::string_view database_of(std::string_view ns);
std::string_view collection_of(std::string_view ns);

// Whether it belongs to this member alone: what is in it has no log, no past and no branches. The database `local`, and every
// database's system.profile.
bool is_own(std::string_view ns);

// Throw InvalidNamespace (73).
void check_database_name(std::string_view db);
void check_namespace(std::string_view ns);

}  // namespace storage
