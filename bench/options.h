// Benchmarks share these options, and what is done with them.
#pragma once

#include <CLI/CLI.hpp>

#include <string>

#include "bench/report/report.h"

namespace bench {

void add_report(CLI::App& parser, std::string& folder);
void add_scratch(CLI::App& parser, std::string& folder);

// Prints the report, and writes it into the folder where one was given. Throws std::runtime_error.
void publish(const Report& report, const std::string& folder);
// The machine and its load go into the report before what it is about is run; the load again after that, and it is published.
void begin(Report& report);
void finish(Report& report, const std::string& folder);

}  // namespace bench
