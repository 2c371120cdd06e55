// Checks of whole numbers among the arguments; their messages say what is wanted.
#pragma once

#include <CLI/CLI.hpp>

namespace client {

CLI::Validator above_zero();
CLI::Validator zero_or_above();

}  // namespace client
