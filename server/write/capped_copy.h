// A collection as a capped one: its newest documents, as many as there is room for, and no index but that on _id.
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

// A capped collection's size as it is kept: 4096 at least, and whole pieces of 256 bytes. Throws BadValue for more than 1 PB.
int64_t capped_size(int64_t bytes);

// The capped copy takes the collection's place, with a uuid of its own. Nobody reads or writes in it meanwhile. Throws
// NamespaceNotFound, IllegalOperation where branches share it; then it is as it was.
void convert_to_capped(OperationContext& op, const std::string& ns, int64_t bytes);

// Throws NamespaceNotFound, NamespaceExists, IllegalOperation for a target on a branch; then there is no target.
void clone_as_capped(OperationContext& op, const std::string& from, const std::string& to, int64_t bytes);

}  // namespace server::write
