#include "versions/branch/graph_rows.h"

#include <algorithm>

#include "base/varint.h"

namespace versions {

namespace {

// This is the first byte of a row.
constexpr char absent_version = 7;

char row_version(const Commit& commit, bool by_number) {
  if (commit.absent) return absent_version;
  const char kept = commit.digests == DigestKind::sums ? 1 : by_number ? 5 : 3;
  return static_cast<char>(kept + commit.dropped);
}

// Numbers that aren't below the commit's own are written as they are.
bool is_by_number(const Commit& commit) {
  if (commit.digests != DigestKind::roots) return false;
  return commit.grafted ||
         std::any_of(commit.parents.begin(), commit.parents.end(), [&](CommitNumber one) { return one >= commit.number; }) ||
         std::any_of(commit.collections.begin(), commit.collections.end(),
                     [&](const CollectionState& one) { return one.state > commit.number; });
}

uint64_t at_most(uint64_t number, uint64_t most) {
  if (number > most) RowReader::fail();
  return number;
}

}  // namespace

uint64_t RowReader::number() {
  const auto taken = base::take_varint(bytes_);
  if (!taken) fail();
  return *taken;
}

BytesView RowReader::bytes(uint64_t count) {
  if (count > bytes_.size()) fail();
  const BytesView taken = bytes_.substr(0, count);
  bytes_.remove_prefix(count);
  return taken;
}

void RowReader::fail() {
  throw base::OperationError(base::ErrorCode::data_corruption_detected, "a row of the version graph can't be read");
}

CommitNumber read_number(BytesView bytes) {
  if (bytes.size() != sizeof(CommitNumber)) RowReader::fail();
  return base::load_be64(bytes.data());
}

void append_bytes(Bytes& out, BytesView bytes) {
  base::append_varint(out, bytes.size());
  out.append(bytes);
}

bool dropped_row(BytesView row) {
  if (row.empty()) RowReader::fail();
  return row[0] == 2 || row[0] == 4 || row[0] == 6 || row[0] == absent_version;
}

bool absent_row(BytesView row) {
  if (row.empty()) RowReader::fail();
  return row[0] == absent_version;
}

Bytes write_commit(const Commit& commit) {
  const bool by_number = is_by_number(commit);
  Bytes out(1, row_version(commit, by_number));
  out.append(view(commit.id));
  if (commit.absent) return out;
  const auto append_number = [&](uint64_t number) { base::append_varint(out, by_number ? number : commit.number - number); };
  base::append_varint(out, commit.parents.size());
  for (const CommitNumber parent : commit.parents) append_number(parent);
  base::append_varint(out, base::zigzag(commit.time_ms));
  append_bytes(out, commit.metadata);
  base::append_varint(out, commit.collections.size());
  for (const CollectionState& one : commit.collections) {
    base::append_varint(out, one.collection);
    append_bytes(out, one.label);
    append_number(one.state);
    out.append(view(one.digest));
  }
  return out;
}

Commit read_commit(CommitNumber number, BytesView row) {
  RowReader reader(row);
  const char version = reader.bytes(1)[0];
  if (version < 1 || version > absent_version) RowReader::fail();
  Commit commit{.number = number, .digests = version < 3 ? DigestKind::sums : DigestKind::roots, .dropped = dropped_row(row)};
  commit.id = reader.hash();
  if (version == absent_version) {
    commit.absent = true;
    if (!reader.at_end()) RowReader::fail();
    return commit;
  }
  commit.grafted = version == 5 || version == 6;
  for (uint64_t left = reader.number(); left > 0; --left) {
    const uint64_t parent = reader.number();
    if (commit.grafted) {
      if (parent == number) RowReader::fail();
      commit.parents.push_back(parent);
      continue;
    }
    // Parents have lower numbers: whoever follows them arrives.
    if (at_most(parent, number) == 0) RowReader::fail();
    commit.parents.push_back(number - parent);
  }
  commit.time_ms = base::unzigzag(reader.number());
  commit.metadata = reader.bytes();
  for (uint64_t left = reader.number(); left > 0; --left) {
    CollectionState one;
    one.collection = static_cast<storage::CollectionId>(at_most(reader.number(), UINT32_MAX));
    one.label = reader.bytes();
    const uint64_t state = reader.number();
    one.state = commit.grafted ? state : number - at_most(state, number);
    one.digest = reader.hash();
    commit.collections.push_back(std::move(one));
  }
  if (!reader.at_end()) RowReader::fail();
  return commit;
}

Bytes write_branch(const Branch& branch) {
  Bytes row;
  base::append_varint(row, static_cast<uint32_t>(branch.id));
  base::append_varint(row, branch.head);
  base::append_varint(row, branch.segment);
  return row;
}

Branch read_branch(BytesView name, BytesView row) {
  RowReader reader(row);
  Branch branch{.name = Bytes(name)};
  branch.id = static_cast<BranchId>(at_most(reader.number(), UINT32_MAX));
  branch.head = reader.number();
  branch.segment = static_cast<Segment>(at_most(reader.number(), UINT32_MAX));
  return branch;
}

}  // namespace versions
