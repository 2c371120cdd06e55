// A record of the set's log, plain or compressed: refused, or written back as one that reads the same, compressed and not. Its
// timestamps go up.
#include "base/fuzz_target.h"
#include "bson/json.h"
#include "replication/log_record.h"

namespace {

using namespace replication;

void check_reads_back(const LogRecord& record, size_t compress_from) {
  const auto again = decode_record(encode(record, compress_from));
  base::check(again.ok() && *again.value().body == *record.body && again.value().entries.size() == record.entries.size());
}

bool run(BytesView input) {
  const auto record = decode_record(input);
  if (!record.ok()) return false;
  const auto& entries = record.value().entries;
  base::check(!entries.empty());
  for (size_t i = 1; i < entries.size(); ++i) base::check(entries[i - 1].stamp < entries[i].stamp);
  check_reads_back(record.value(), SIZE_MAX);
  check_reads_back(record.value(), 0);
  return true;
}

std::vector<Bytes> seeds() {
  const auto o = bson::json("{_id: 1, a: 'a text, a text, a text, a text, a text, a text, a text, a text, a text, a text'}");
  const Bytes uuid(16, 'u');
  Entry first;
  first.op = 'i', first.uuid = uuid, first.ns = "db.c", first.o = o.view();
  Entry second = first;
  second.behind_first = 3;
  LogRecordBuilder one, two;
  one.add(100, first);
  two.add(100, first);
  two.add(103, second);
  const LogRecord both = two.done();
  return {encode(one.done()), encode(both), encode(both, 0)};
}

const base::FuzzTarget target("log_record", run, seeds);

}  // namespace
