#include "bench/options.h"

#include <iostream>

namespace bench {

void add_report(CLI::App& parser, std::string& folder) {
  parser.add_option("--report", folder, "write report.txt, report.json and report.html into this folder");
}
void add_scratch(CLI::App& parser, std::string& folder) { parser.add_option("--scratch", folder, "where temporary folders go (default: TMPDIR)"); }

void publish(const Report& report, const std::string& folder) {
  if (!folder.empty()) write_all(folder, report);
  std::cout << as_text(report);
}

}  // namespace bench
