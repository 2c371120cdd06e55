// A remote is another server's database, whose commits this database exchanges (docs/remotes.md).
//
//   admin.system.remotes   {_id: "shop.origin", db: "shop", name: "origin", uri, collections: ["pages"], filter: {pages: {…}}}
//
// A remote's branches and tags stand here as tags, as they were when they were fetched: its dev is the tag origin/dev, which
// is read as shop@origin%2Fdev.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "server/commands/versions/remote_server.h"
#include "versions/branch/document_hash.h"
#include "versions/database/selection.h"
#include "versions/pack/pack.h"

namespace server {

class Arguments;

struct Remote {
  std::string name;
  RemoteUri uri;
  versions::Selection selection = {};  // what is fetched of each commit; empty: all

  // The tag's name of what the remote calls `ref`.
  std::string tag(std::string_view ref) const { return name + "/" + std::string(ref); }
};

std::vector<Remote> remotes_of(OperationContext& op, const std::string& db);
// Throws BadValue if there is no such remote.
Remote remote_of(OperationContext& op, const std::string& db, std::string_view name);
// Throws BadValue for a name that can't be a remote's.
void check_remote_name(std::string_view name);
void put_remote(OperationContext& op, const std::string& db, const Remote& remote);
void remove_remote(OperationContext& op, const std::string& db, const std::string& name);

// Returns whether the tag is what a remote's branch or tag named.
bool is_of_remote(const std::vector<Remote>& remotes, std::string_view tag);
// Throws IllegalOperation if it is.
void check_not_of_remote(OperationContext& op, const std::string& db, std::string_view tag);

// Commands and replies write a ref and an id so: {branch: "dev", commit}, {tag: "v1", commit}.
bson::Document document_of(const versions::pack::Ref& ref);
// Throws BadValue for a document that says none.
versions::pack::Ref ref_of_document(bson::DocumentView document);
// Reads `collections` and `filter` (versions/database/selection.h); empty: there is neither.
versions::Selection selection_of(const Arguments& arguments);
// Reads an array of ids. Throws BadValue.
std::vector<versions::Hash> ids_of(bson::DocumentView array, std::string_view field);

}  // namespace server
