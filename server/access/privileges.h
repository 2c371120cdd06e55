// Privileges say which actions are allowed on which resources.
#pragma once

#include <vector>

#include "server/access/actions.h"
#include "server/access/resource.h"

namespace server::access {

struct Privilege {
  ResourcePattern resource;
  ActionSet actions;

  // {resource: {…}, actions: ["find", …]}; the actions are in the order of their names.
  bson::Document document() const;
  // Throws FailedToParse (9), BadValue (2) for unknown actions.
  static Privilege parse(bson::DocumentView document);
};

class Privileges {
 public:
  // One resource has one entry: its actions are united.
  void add(const Privilege& privilege);
  void add(const Privileges& others);
  // Takes the actions away from the entry of exactly that resource.
  void remove(const Privilege& privilege);
  // Several privileges may cover the actions together.
  bool allow(const ActionSet& actions, const Resource& resource) const;
  // Returns whether some privilege is about this database or a collection in it.
  bool touch(std::string_view db) const;
  // Returns whether some privilege is about this collection.
  bool use(std::string_view db, std::string_view collection) const;
  const std::vector<Privilege>& all() const { return privileges_; }
  void append_to(bson::ArrayBuilder& out) const;

 private:
  std::vector<Privilege> privileges_;
};

}  // namespace server::access
