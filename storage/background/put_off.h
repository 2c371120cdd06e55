// This function reports that a piece of background work failed. It is tried again later, and at worst costs space.
#pragma once

#include <exception>

namespace storage {

void log_put_off(const char* doing, const std::exception& error);

}  // namespace storage
