#include "storage/engine/touch.h"

#include "storage/engine/internals.h"
#include "storage/engine/session.h"

namespace storage {

void touch(Transaction& transaction, const Table& table, BytesView key) {
  base::check(transaction.writes(), "touch in a read transaction");
  WT_CURSOR* cursor = transaction.session().overwrite(table.name());
  wt::set_key(cursor, key);
  wt::set_value(cursor, {});
  // An update leaves the cursor on the row, so that the row isn't searched for again.
  int result = cursor->update(cursor);
  if (result == 0) result = cursor->remove(cursor);
  if (result == WT_ROLLBACK) transaction.engine().internals().conflict(transaction.session());
  if (result != 0) wt::fail(result, "touching table " + table.name());
}

}  // namespace storage
