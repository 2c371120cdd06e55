// The files that every report page carries. The build embeds them (cmake/Embed.cmake).
#pragma once

#include <string_view>

namespace datasets::report::parts {

extern const std::string_view style;         // style.css
extern const std::string_view plots_script;  // plots.js
extern const std::string_view uplot_script;
extern const std::string_view uplot_style;
extern const std::string_view uplot_licence;

}  // namespace datasets::report::parts
