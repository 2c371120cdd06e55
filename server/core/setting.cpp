#include "server/core/setting.h"

namespace server::settings {
namespace {

bool truth(const std::string& text, const std::string& name) {
  if (text == "true" || text == "yes" || text == "on") return true;
  if (text == "false" || text == "no" || text == "off") return false;
  bad("the argument ('" + text + "') for option '" + name + "' is invalid, expected a boolean");
}

}  // namespace

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, separator);) {
    if (!part.empty()) parts.push_back(part);
  }
  return parts;
}

std::string one_of(const std::string& text, const std::string& name, std::initializer_list<const char*> allowed) {
  for (const char* value : allowed) {
    if (text == value) return text;
  }
  bad("Bad value \"" + text + "\" for " + name);
}

Setting flag(std::string yaml, std::string cli, std::string help, std::function<void(Options&, bool)> apply) {
  const std::string name = yaml.empty() ? cli : yaml;
  return {std::move(yaml), std::move(cli), Kind::flag, std::move(help),
          [apply, name](Options& o, const std::string& v) { apply(o, truth(v, name)); }};
}

Setting refused(std::string yaml, std::string cli, std::string why) {
  const std::string name = cli.empty() ? yaml : "--" + cli;
  return {
      std::move(yaml), std::move(cli), Kind::refused, {}, [why, name](Options&, const std::string&) { bad(name + ": " + why); }};
}

}  // namespace server::settings
