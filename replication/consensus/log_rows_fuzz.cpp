// The input is taken as a row of the consensus log's table, once its checksum is put right. It is refused, or written back as one
// that reads the same.
//
//   number: the place of the entry or run | rest: the value without its checksum
#include "base/fuzz_target.h"
#include "base/hash.h"
#include "replication/consensus/log_rows.h"

namespace {

using namespace replication::consensus;

Bytes sealed(BytesView key, BytesView body) {
  Bytes value;
  base::append_le(value, base::hash64(body, base::hash64(key)));
  return value.append(body);
}

bool run(BytesView input) {
  base::FuzzReader reader(input);
  const Index index = reader.number();
  const BytesView body = reader.rest();
  const auto meta = decode_meta(sealed(meta_key(), body));
  if (meta.ok()) base::check(decode_meta(encode_meta(meta.value())).or_throw() == meta.value());
  const auto term = decode_run(run_key(index), sealed(run_key(index), body));
  if (term.ok()) base::check(decode_run(run_key(index), encode_run(term.value())).or_throw() == term.value());
  const auto entry = decode_entry(entry_key(index), sealed(entry_key(index), body));
  if (entry.ok()) base::check(*decode_entry(entry_key(index), encode_entry(*entry.value())).or_throw() == *entry.value());
  return meta.ok() || term.ok() || entry.ok();
}

// An input has the value without its checksum, since run() makes that.
Bytes seed(Index index, const Bytes& value) {
  return base::FuzzWriter().number(index).rest(BytesView(value).substr(8));
}

std::vector<Bytes> seeds() {
  LogMeta meta{.hard = {.term = 3, .vote = 2, .commit = 40},
               .members = {.index = 5, .voters = {1, 2, 300}, .learners = {4}, .voters_outgoing = {1}, .learners_next = {}},
               .members_through = 41,
               .compacted = {.index = 17, .term = 2}};
  meta.members.auto_leave = true;
  return {seed(0, encode_meta(meta)), seed(18, encode_run({.first = 18, .term = 3})),
          seed(18, encode_entry({.index = 18, .term = 3, .kind = EntryKind::members, .data = "data", .context = "context"})),
          seed(1, encode_entry({.index = 1, .term = 1, .kind = EntryKind::data, .data = {}, .context = {}}))};
}

const base::FuzzTarget target("log_rows", run, seeds);

}  // namespace
