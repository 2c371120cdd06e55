// A table that nobody has opened yet, taken away.
#pragma once

#include <string>

namespace storage {

class Engine;

// At start, while nobody else uses the engine: its file is gone when this returns, and the name free.
void drop_now(Engine& engine, const std::string& table);

}  // namespace storage
