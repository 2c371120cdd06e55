// This function drops a table that nobody has opened yet.
#pragma once

#include <string>

namespace storage {

class Engine;

// It is called at start, while nobody else uses the engine. When it returns, the table's file is gone and its name is free.
void drop_now(Engine& engine, const std::string& table);

}  // namespace storage
