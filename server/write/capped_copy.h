// A capped copy has a collection's newest documents, as many as there is room for, and no index but that on _id.
//
//   source   d1 d2 d3 d4 d5      (natural order)
//   capped         d3 d4 d5      size: 4096
#pragma once

#include <cstdint>
#include <string>

namespace server {
class OperationContext;
}

namespace server::write {

// Returns the size that a capped collection gets: at least 4096, and a multiple of 256 bytes. Throws BadValue for more than 1 PB.
int64_t capped_size(int64_t bytes);

// Replaces the collection by a capped copy, which has a uuid of its own. Nobody reads or writes the collection meanwhile. Throws
// NamespaceNotFound, and IllegalOperation if branches share it; after an error it is as it was.
void convert_to_capped(OperationContext& op, const std::string& ns, int64_t bytes);

// Throws NamespaceNotFound, NamespaceExists, and IllegalOperation for a target on a branch; after an error there is no target.
void clone_as_capped(OperationContext& op, const std::string& from, const std::string& to, int64_t bytes);

}  // namespace server::write
