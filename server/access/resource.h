// A resource is what an action is done to: the cluster, a database, or a collection.
//
//   {db: "shop", collection: "orders"}    one collection            {cluster: true}
//   {db: "shop", collection: ""}          all of a database         {anyResource: true}
//   {db: "", collection: "orders"}        of that name anywhere
//   {db: "", collection: ""}              of all databases but local and config
//   {db: "shop@dev", collection: ""}      a branch, a snapshot or a commit of a database, as a client writes its name
//   {db: "shop@*", collection: ""}        all of them, but not "shop" itself
//
// Collections whose names begin with "system." are covered only where they are named.
#pragma once

#include <string>
#include <string_view>

#include "bson/builder.h"
#include "bson/document.h"

namespace server::access {

// A Resource is a thing that an operation wants to use.
struct Resource {
  enum class Kind { cluster, database, collection };
  Kind kind = Kind::cluster;
  std::string_view db, collection;

  static Resource of_cluster() { return {}; }
  static Resource of_database(std::string_view db) { return {Kind::database, db, {}}; }
  static Resource of_collection(std::string_view db, std::string_view collection) { return {Kind::collection, db, collection}; }
};

// A ResourcePattern says which resources a privilege covers.
struct ResourcePattern {
  enum class Kind { any, cluster, names };
  Kind kind = Kind::names;
  std::string db, collection;  // Kind::names; empty: any

  bool covers(const Resource& resource) const;
  bool operator==(const ResourcePattern& other) const = default;
  // Returns {db, collection}, {cluster: true} or {anyResource: true}.
  bson::Document document() const;
  // Throws FailedToParse (9), and BadValue (2) for a name that no database has.
  static ResourcePattern parse(bson::DocumentView document);
};

}  // namespace server::access
