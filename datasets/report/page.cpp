#include "datasets/report/page.h"

#include "datasets/report/page/parts.h"

namespace datasets::report {

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      default: out += c;
    }
  }
  return out;
}

std::string page(const std::string& title, const std::string& body) {
  std::string out =
      "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\"><title>";
  out.append(escaped(title)).append("</title>\n<style>\n").append(parts::uplot_style).append("\n");
  out.append(parts::style).append("</style>\n").append(body);
  // The licence asks to come along with every copy.
  out.append("\n<script>\n/*\n").append(parts::uplot_licence).append("\n*/\n").append(parts::uplot_script);
  return out.append("\n").append(parts::plots_script).append("</script></html>\n");
}

}  // namespace datasets::report
