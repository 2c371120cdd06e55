// A replay's report has three forms.
//
// The document (replay/outcome.h) is report.json; text and HTML are made from it,
// so that a saved report (a run with dedup off) can be put beside another.
#pragma once

#include <string>

#include "bson/document.h"

namespace datasets::report {

// `beside`: another run of the same data, nullptr for none.
std::string as_text(bson::DocumentView report, const bson::Document* beside);
std::string as_json(bson::DocumentView report);
std::string as_html(bson::DocumentView report, const bson::Document* beside);

// Writes report.txt, report.json and report.html. Throws std::runtime_error.
void write_all(const std::string& folder, const bson::Document& report, const bson::Document* beside);

}  // namespace datasets::report
