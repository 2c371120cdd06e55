// These functions turn rows of the version graph into bytes and back (docs/formats/branches.md).
//
// Rows that can't be read throw DataCorruptionDetected.
#pragma once

#include "versions/branch/version_graph.h"

namespace versions {

// Takes a row apart from its front.
class RowReader {
 public:
  explicit RowReader(BytesView bytes) : bytes_(bytes) {}
  uint64_t number();  // a varint
  BytesView bytes(uint64_t count);
  BytesView bytes() { return bytes(number()); }
  Hash hash() { return merkle::read_hash(bytes(sizeof(Hash)).data()); }
  bool at_end() const { return bytes_.empty(); }
  [[noreturn]] static void fail();

 private:
  BytesView bytes_;
};

// Reads a commit's number, where it is a whole key or row.
CommitNumber read_number(BytesView bytes);
// Appends the length and the bytes, as RowReader::bytes reads them.
void append_bytes(Bytes& out, BytesView bytes);

Bytes write_commit(const Commit& commit);
Commit read_commit(CommitNumber number, BytesView row);
// Returns whether a commit's row is that of a dropped one; absent ones are.
bool dropped_row(BytesView row);
bool absent_row(BytesView row);

Bytes write_branch(const Branch& branch);
Branch read_branch(BytesView name, BytesView row);

}  // namespace versions
