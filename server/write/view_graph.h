// Views as a graph: a view leads to what it reads, in its own database or in others.
//
//   shop.recent ──viewOn──> shop.orders
//        └──────$lookup──> depot.places ──$unionWith──> depot.shelves
#pragma once

#include <compare>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace server {
class OperationContext;
}
namespace server::query {
struct View;
}

namespace server::write {

// A collection or view. Its database is named in one way: `shop` for `shop@main` too.
struct Readable {
  Readable(std::string_view of_database, std::string_view named);
  std::string db, name;
  auto operator<=>(const Readable&) const = default;
};

// Returns what the view of that database reads by its name, at any depth of its pipeline.
std::set<Readable> reads_of(const query::View& view, std::string_view db);

// Checks a view of the database before it is made, or changed, to what is given. `views` are those that the database has now;
// those of other databases are looked up. Throws GraphContainsCycle (5) and ViewDepthLimitExceeded (165).
void check_view_graph(OperationContext& op, const std::string& db, const std::vector<query::View>& views,
                      const query::View& changed);

}  // namespace server::write
