// This file replaces damaged tables by what can be read of them.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "storage/engine/tables.h"

namespace storage {

// Reads the table's whole file, and returns whether it is sound. `interrupted` is called now and then, and may throw.
bool is_sound(Engine& engine, const std::string& table, const std::function<void()>& interrupted);

// Returns "Table records-3 was damaged; 17 rows could be kept.", and what else there is to say.
std::string text_of(const std::string& table, const Tables::Kept& kept);

// Replaces the table if it is damaged (Tables::keep_readable). nullopt: it is sound, or there is none. Nobody else may use it.
std::optional<Tables::Kept> mend_table(Engine& engine, const std::string& table, const std::function<void()>& interrupted,
                                       const Tables::Fill& fill = nullptr);

}  // namespace storage
