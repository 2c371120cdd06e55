// An Asker answers a rule: may this connection do that?
#pragma once

#include <string>
#include <string_view>

#include "server/access/authority.h"
#include "server/core/command.h"

namespace server::rules {

using access::Action;
using access::ActionSet;

class Asker {
 public:
  // Both must outlive it.
  Asker(const access::Authority& authority, const Request& request) : authority_(authority), request_(request) {}

  const Request& request() const { return request_; }
  const access::Authority& authority() const { return authority_; }

  bool cluster(const ActionSet& actions) const;
  bool database(std::string_view db, const ActionSet& actions) const;  // the database itself, or all of its collections
  bool database(const ActionSet& actions) const { return database(request_.db, actions); }
  bool collection(std::string_view db, std::string_view name, const ActionSet& actions) const;
  // Asks for the collection that the command's first field names, or for the database, if the field is no text.
  bool target(const ActionSet& actions) const;
  bool ns(std::string_view ns, const ActionSet& actions) const;  // "shop.orders"
  bool everything() const;                                       // any action on any resource

  // Asks for the request's database as the ref shows it: "shop@dev".
  bool at_ref(std::string_view ref, std::string_view collection, const ActionSet& actions) const;
  // Asks for every state of the request's database: itself, branches, commits and snapshots.
  bool all_states(std::string_view collection, const ActionSet& actions) const;
  // Asks for the collection's indexes and options, which belong to all of its states. A right on the state that the request names
  // isn't enough.
  bool shared_target(const ActionSet& actions) const;
  // Asks for the request's database itself, also where the request names a ref of it: "shop" for "shop@dev".
  bool base(const ActionSet& actions) const;

  // Returns the first field's text; empty: it is none.
  std::string_view named() const;
  std::string_view text(std::string_view field) const;

 private:
  const access::Authority& authority_;
  const Request& request_;
};

}  // namespace server::rules
