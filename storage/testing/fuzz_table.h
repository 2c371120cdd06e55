// A fuzz target of rows fills a table with what its input says, and reads it as the server would.
#pragma once

#include <utility>

#include "base/fuzz_target.h"
#include "storage/engine/engine.h"
#include "storage/testing/temporary_store.h"

namespace storage {

// A FuzzTable is one table of an engine on a temporary directory. Rows live in transactions that are rolled back, so an input
// sees its own rows alone. It is not thread-safe.
class FuzzTable {
 public:
  explicit FuzzTable(const std::string& name) : engine_(test_options(directory_.path())), table_(engine_.open_table(name)) {}

  Engine& engine() { return engine_; }
  const Table& table() const { return table_; }

  // Calls `work(transaction)` where the table has these rows, and returns its result. An input of rows is a key and a value, each
  // a part (base/fuzz_target.h), and so on.
  template <class Work>
  auto with_rows(BytesView rows, Work&& work) {
    Transaction transaction(engine_, Transaction::Mode::write);
    put_rows(transaction, table_, rows);
    return std::forward<Work>(work)(transaction);
  }

  // Returns the rows that `write(transaction)` leaves, as an input for `with_rows`.
  template <class Write>
  Bytes rows_of(Write&& write) {
    Transaction transaction(engine_, Transaction::Mode::write);
    std::forward<Write>(write)(transaction);
    return rows_in(transaction, table_);
  }

  // The same for another table of a transaction.
  static void put_rows(Transaction& transaction, const Table& table, BytesView rows) {
    base::FuzzReader reader(rows);
    while (reader.rest().size() > 1) {
      const BytesView key = reader.part(), value = reader.part();
      if (!key.empty()) table.put(transaction, key, value);
    }
  }
  static Bytes rows_in(Transaction& transaction, const Table& table) {
    base::FuzzWriter rows;
    TableCursor cursor = table.cursor(transaction);
    while (cursor.next()) rows.part(cursor.key()).part(cursor.value());
    return rows.rest();
  }

 private:
  TemporaryDirectory directory_;
  Engine engine_;
  Table table_;
};

}  // namespace storage
