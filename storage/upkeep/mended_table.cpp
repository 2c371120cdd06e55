#include "storage/upkeep/mended_table.h"

#include "storage/engine/engine.h"
#include "storage/engine/internals.h"

namespace storage {

bool is_sound(Engine& engine, const std::string& table, const std::function<void()>& interrupted) {
  Tables& tables = engine.internals().tables;
  bool busy = false;
  std::string problem = tables.verify(table, busy, interrupted);
  if (busy) {
    engine.checkpoint();
    problem = tables.verify(table, busy, interrupted);
  }
  return busy ? can_be_read(engine, Table(table)) : problem.empty();
}

std::string text_of(const std::string& table, const Tables::Kept& kept) {
  return "Table " + table + " was damaged; " + std::to_string(kept.rows) + " rows could be kept." +
         (kept.from_journal > 0 ? " The journal had " + std::to_string(kept.from_journal) + " of them." : "") +
         (kept.salvaged && kept.rows > 0
              ? " They are what WiredTiger found in the file, so some may be older than the last that were written."
              : "");
}

std::optional<Tables::Kept> mend_table(Engine& engine, const std::string& table, const std::function<void()>& interrupted,
                                       const Tables::Fill& fill) {
  Tables& tables = engine.internals().tables;
  if (!tables.exists(table) || is_sound(engine, table, interrupted)) return std::nullopt;
  return tables.keep_readable(engine, table, fill);
}

}  // namespace storage
