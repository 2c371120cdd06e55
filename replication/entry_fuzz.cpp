// A row of the oplog, and an entry of the set's log: refused, or an entry whose encoding reads the same, and whose document in
// MongoDB's form is valid and of the length that was foretold.
#include "base/fuzz_target.h"
#include "bson/json.h"
#include "bson/validate.h"
#include "replication/entry.h"

namespace {

using namespace replication;

Bytes encoded(const Entry& entry) {
  Bytes out;
  encode(entry, out);
  return out;
}

void check_entry(const Entry& entry, base::Result<Entry> (*read)(BytesView)) {
  const Bytes once = encoded(entry);
  const auto again = read(once);
  base::check(again.ok() && encoded(again.value()) == once, "an entry reads as it was written");
  if (entry.form != Entry::Form::whole) return;
  const auto document = oplog_document(1, entry);
  base::check(bson::validate(document.bytes(), {.bytes_max = size_t{1} << 30}).ok());
  base::check(oplog_document_bytes(entry) == document.bytes().size());
}

bool run(BytesView input) {
  const auto row = decode(input), logged = decode_logged(input);
  if (row.ok()) check_entry(row.value(), decode);
  if (logged.ok()) check_entry(logged.value(), decode_logged);
  return row.ok() || logged.ok();
}

std::vector<Bytes> seeds() {
  const auto o = bson::json("{_id: 1, a: 'text'}"), o2 = bson::json("{_id: 1}");
  const Bytes uuid(16, 'u'), session(SessionWrite::id_bytes, 's');
  const auto entry = [&](Entry::Form form, char op) {
    Entry made;
    made.form = form, made.op = op, made.wall_ms = 1'700'000'000'000, made.uuid = uuid, made.ns = "db.c";
    return made;
  };
  Entry named = entry(Entry::Form::named, 'i');
  named.collection = 7, named.record = 300, named.content_bytes = o.bytes().size();
  Entry whole = entry(Entry::Form::whole, 'u');
  whole.o = o.view(), whole.o2 = o2.view(), whole.term = 3, whole.behind_first = 2;
  whole.session =
      SessionWrite{.session = session, .txn_number = 5, .statement = 1, .previous = {9, 2}, .image = SessionWrite::Image::before};
  Entry delta = entry(Entry::Form::delta, 'u');
  delta.delta = {.base_behind = 4, .base_checksum = 5, .content_hash = 6, .base_id = o2.view(), .instructions = "instructions"};
  const auto outline = bson::json("{u: {a: null}}");
  Entry update = entry(Entry::Form::whole, 'u');
  update.o = o.view(), update.outline = outline.view();
  return {encoded(named), encoded(whole), encoded(delta), encoded(update)};
}

const base::FuzzTarget target("entry", run, seeds);

}  // namespace
