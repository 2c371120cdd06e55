// A report page is one HTML file with its style, its scripts and the data of its plots inside. It fetches nothing.
#pragma once

#include <string>

namespace datasets::report {

// The text with the characters that mean something to HTML written as entities.
std::string escaped(const std::string& text);

// The whole page. `title` is plain text, `body` is HTML.
std::string page(const std::string& title, const std::string& body);

}  // namespace datasets::report
