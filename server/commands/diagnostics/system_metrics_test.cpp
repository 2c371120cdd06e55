#include "server/commands/diagnostics/system_metrics.h"

#include <catch2/catch.hpp>
#include <sstream>

#include "bson/json.h"

namespace server {
namespace {

template <typename Append>
std::string read(const std::string& text, Append append) {
  std::istringstream in(text);
  bson::Builder out;
  append(in, out);
  return bson::to_json(out.done());
}

TEST_CASE("times of processors are milliseconds") {
  const auto shown = read("cpu  10 2 3 400 5 0 1 0 0 0\ncpu0 1 2 3\nintr 5 6\nctxt 77\nbtime 1700000000\nprocs_running 2\n",
                          [](auto& in, auto& out) { append_processor_metrics(in, 100, out); });
  CHECK(shown == bson::to_json(bson::json(
                     "{user_ms: 100, nice_ms: 20, system_ms: 30, idle_ms: 4000, iowait_ms: 50, irq_ms: 0, softirq_ms: 10, "
                     "steal_ms: 0, guest_ms: 0, guest_nice_ms: 0, ctxt: 77, btime: 1700000000, procs_running: 2}")));
}

TEST_CASE("memory is in KB, and other units are left out") {
  const auto shown = read("MemTotal:       24000 kB\nHugePages_Total:       3\nActive(anon):      17 kB\nfrob\n",
                          [](auto& in, auto& out) { append_memory_metrics(in, out); });
  CHECK(shown == bson::to_json(bson::json("{MemTotal_kb: 24000, 'Active(anon)_kb': 17}")));
}

TEST_CASE("disks that nobody used, and lines that are cut, are left out") {
  const auto shown = read("   8  0 sda 1 2 3 4 5 6 7 8 9 10 11 0 0\n   7  0 loop0 0 0 0 0 0 0 0 0 0 0 0\n   8  1 sda1 1 2 3\n",
                          [](auto& in, auto& out) { append_disk_metrics(in, out); });
  CHECK(shown == bson::to_json(bson::json(
                     "{sda: {reads: 1, reads_merged: 2, read_sectors: 3, read_time_ms: 4, writes: 5, writes_merged: 6, "
                     "write_sectors: 7, write_time_ms: 8, io_in_progress: 9, io_time_ms: 10, io_queued_time_ms: 11}}")));
}

TEST_CASE("a number that no 64 bits hold is the largest, or left out") {
  const auto shown = read("MemTotal: 18446744073709551615 kB\nMemFree: 99999999999999999999999 kB\n",
                          [](auto& in, auto& out) { append_memory_metrics(in, out); });
  CHECK(shown == bson::to_json(bson::json("{MemTotal_kb: {$numberLong: '9223372036854775807'}}")));
}

}  // namespace
}  // namespace server
