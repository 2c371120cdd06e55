// These functions check the names of databases and collections.
#pragma once

#include <string>
#include <string_view>

namespace storage {

// These return the parts of a namespace: "shop" is the database of "shop.orders".
std::string_view database_of(std::string_view ns);
std::string_view collection_of(std::string_view ns);

// A time series' measurements are in a collection of this prefix and the series' name.
inline constexpr std::string_view buckets_prefix = "system.buckets.";

// Returns whether the collection belongs to this member alone, so that its documents have no log, no past and no branches. This
// is so for the database `local`, and for every database's system.profile.
bool is_own(std::string_view ns);

// These throw InvalidNamespace (73).
void check_database_name(std::string_view db);
void check_namespace(std::string_view ns);

}  // namespace storage
