// A setting is one row of the tables of options: its flag, its YAML name and what it sets. It is internal to the options.
#pragma once

#include <charconv>
#include <functional>
#include <initializer_list>
#include <sstream>
#include <string>
#include <system_error>
#include <vector>

#include "server/core/options.h"

namespace server::settings {

// `secret` is a text that nobody is shown.
enum class Kind { flag, count, integer, real, text, secret, list, refused };

// `apply` gets the text as the user gave it; "true" or "false" for a flag.
struct Setting {
  std::string yaml;  // "net.port"; empty: command line only
  std::string cli;   // "port", "config,-f" …; empty: YAML only
  Kind kind;
  std::string help;
  std::function<void(Options&, const std::string&)> apply;
};

[[noreturn]] inline void bad(const std::string& message) {
  throw OptionsError(message);
}

template <class Number>
Number number(const std::string& text, const std::string& name, Number min, Number max) {
  Number value{};
  const char* const end = text.data() + text.size();
  auto [at, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || at != end) bad("the argument ('" + text + "') for option '" + name + "' is invalid");
  if (!(value >= min && value <= max)) {  // this refuses NaN too
    std::ostringstream range;
    range << name << " must be between " << min << " and " << max << ", inclusive";
    bad(range.str());
  }
  return value;
}

std::vector<std::string> split(const std::string& text, char separator);
std::string one_of(const std::string& text, const std::string& name, std::initializer_list<const char*> allowed);
Setting flag(std::string yaml, std::string cli, std::string help, std::function<void(Options&, bool)> apply);
// mongod knows these settings and this server doesn't; a reason helps more than "unrecognised".
Setting refused(std::string yaml, std::string cli, std::string why);

// net.tls, and what is checked once all settings are known.
std::vector<Setting> tls();
void check_tls(Options& options);

// Access control, and what is checked once all settings are known.
std::vector<Setting> access();
void check_access(Options& options);

// Encryption, the audit log and redaction, and what is checked once all settings are known.
std::vector<Setting> protection();
void check_protection(const Options& options);

}  // namespace server::settings
