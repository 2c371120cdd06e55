// The files of the page, as the build made them of web/.
#pragma once

#include <string_view>

namespace console::page {

extern const std::string_view html;
extern const std::string_view script;
extern const std::string_view style;
extern const std::string_view licences;  // of the libraries in the script

}  // namespace console::page
