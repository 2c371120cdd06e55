// This function undoes a part of a transaction that failed.
#pragma once

#include "storage/engine/transaction.h"

namespace storage {

// Runs `work`, a part of a transaction. If it throws, calls `undo`, and the error goes on: the transaction may do so, too. After
// a WriteConflict there is nothing to undo, since the transaction is lost.
template <class Work, class Undo>
void or_undo(Work&& work, Undo&& undo) {
  try {
    work();
  } catch (const WriteConflict&) {
    throw;
  } catch (...) {
    undo();
    throw;
  }
}

}  // namespace storage
