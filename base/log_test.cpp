#include "base/log.h"

#include <catch2/catch.hpp>

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <regex>

#include "base/utf8.h"

namespace base {
namespace {

std::string last_line() {
  return recent_log_lines().lines.back();
}

std::string scratch(const std::string& name) {
  const auto folder = std::filesystem::temp_directory_path() / ("log_test." + std::to_string(::getpid()));
  std::filesystem::create_directories(folder);
  return (folder / name).string();
}

size_t lines_in(const std::string& path) {
  std::ifstream in(path);
  size_t lines = 0;
  for (std::string line; std::getline(in, line);) ++lines;
  return lines;
}

}  // namespace

TEST_CASE("a line has the shape MongoDB's tools read") {
  const std::string path = scratch("shape.log");
  REQUIRE(open_log({.path = path, .append = true}).empty());
  LogContext context("listener");
  log(Severity::info, LogComponent::network, 23016, "Waiting for connections", Attributes().add("port", 27017).add("ssl", "off"));
  const std::regex shape(
      R"re(\{"t":\{"\$date":"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}\+00:00"\},"s":"I",  "c":"NETWORK",  "id":23016,   )re"
      R"re("ctx":"listener","msg":"Waiting for connections","attr":\{"port":27017,"ssl":"off"\}\})re");
  CHECK(std::regex_match(last_line(), shape));
  CHECK(lines_in(path) == 1);
}

TEST_CASE("debug lines appear only at their component's verbosity") {
  REQUIRE(open_log({.path = scratch("verbosity.log"), .append = true}).empty());
  const int64_t before = recent_log_lines().total;
  log(Severity::debug1, LogComponent::network, 1, "quiet");
  CHECK(recent_log_lines().total == before);
  set_log_verbosity(LogComponent::network, 1);
  log(Severity::debug1, LogComponent::network, 1, "heard");
  log(Severity::debug2, LogComponent::network, 1, "too fine");
  log(Severity::debug1, LogComponent::storage, 1, "elsewhere");
  CHECK(recent_log_lines().total == before + 1);
  set_log_verbosity(LogComponent::network, -1);
}

TEST_CASE("text is escaped, and bytes that aren't UTF-8 don't break the line") {
  CHECK(json_quote("a\"b\\c\n\x01") == R"("a\"b\\c\n\u0001")");
  CHECK(json_quote("h\xc3\xa9") == "\"h\xc3\xa9\"");
  CHECK(json_quote("\xff\xc3") == R"("\ufffd\ufffd")");
  // Overlong forms, surrogates, and what lies beyond the last character.
  for (const char* bad : {"\xc0\x80", "\xc1\xbf", "\xe0\x80\x80", "\xed\xa0\x80", "\xf0\x80\x80\x80", "\xf4\x90\x80\x80",
                          "\xf5\x80\x80\x80", "\xf7\xbf\xbf\xbf"}) {
    log(Severity::info, LogComponent::control, 1, bad, Attributes().add(bad, bad));
    CHECK(is_utf8(last_line()));
    CHECK(last_line().find("\\ufffd\\ufffd") != std::string::npos);
  }
  CHECK(json_quote("") == R"("")");
}

TEST_CASE("rotation moves the file aside, reopening leaves it where it is") {
  const std::string path = scratch("rotate.log");
  REQUIRE(open_log({.path = path, .append = true}).empty());
  log(Severity::info, LogComponent::control, 1, "one");
  REQUIRE(rotate_log());
  log(Severity::info, LogComponent::control, 1, "two");
  CHECK(lines_in(path) == 1);

  REQUIRE(open_log({.path = path, .append = true, .reopen_on_rotate = true}).empty());
  REQUIRE(rotate_log());
  log(Severity::info, LogComponent::control, 1, "three");
  CHECK(lines_in(path) == 2);
  CHECK_FALSE(open_log({.path = "/proc/nonexistent-folder/log", .append = true}).empty());
  REQUIRE(open_log({.path = path, .append = true}).empty());
}

TEST_CASE("the ring keeps the last 1024 lines and counts them all") {
  REQUIRE(open_log({.path = scratch("ring.log"), .append = true}).empty());
  const int64_t before = recent_log_lines().total;
  for (int i = 0; i < 1100; ++i) log(Severity::info, LogComponent::control, i, "tick");
  CHECK(recent_log_lines().lines.size() == 1024);
  CHECK(recent_log_lines().total == before + 1100);
  log_startup_warning(22120, "Access control is not enabled for the database");
  CHECK(startup_warnings().lines.back().find(R"("tags":["startupWarnings"])") != std::string::npos);
}

TEST_CASE("dates before 1970 and after count right") {
  CHECK(iso_date(0) == "1970-01-01T00:00:00.000+00:00");
  CHECK(iso_date(-1) == "1969-12-31T23:59:59.999+00:00");
}

}  // namespace base
