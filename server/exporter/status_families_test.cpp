#include "server/exporter/status_families.h"

#include <prometheus/text_serializer.h>

#include <catch2/catch.hpp>
#include <functional>

#include "bson/json.h"
#include "server/commands/test_server.h"
#include "server/exporter/member_families.h"
#include "server/exporter/status_rules.h"

using namespace server::exporter;

namespace {

std::string text_of(Families& families) {
  return prometheus::TextSerializer().Serialize(families.take());
}

std::string text_of(const std::string& status) {
  Families families;
  families.add_status(bson::json(status));
  return text_of(families);
}

bool is_figure(const bson::ValueView& value) {
  using bson::Type;
  return value.is_number() || value.type() == Type::boolean || value.type() == Type::date || value.type() == Type::timestamp;
}

// Calls `visit` for each field that is neither a document nor in a list.
void each_leaf(bson::DocumentView document, Path& path, const std::function<void(const Path&, const bson::ValueView&)>& visit) {
  for (const auto& field : document) {
    path.push_back(field.name);
    if (field.is_object())
      each_leaf(field.as_document(), path, visit);
    else
      visit(path, field);
    path.pop_back();
  }
}

bool has_line(const std::string& text, const std::string& line) {
  return ("\n" + text).find("\n" + line + "\n") != std::string::npos;
}

}  // namespace

TEST_CASE("A field's way becomes a metric's name, and a rule's name becomes a label") {
  const std::string text = text_of(
      "{opcounters: {insert: 5, query: 7}, mem: {resident: 43}, metrics: {document: {inserted: {$numberLong: '9'}}, "
      "cursor: {open: {total: 2}}, commands: {find: {failed: 1, total: 3}}}, network: {compression: {zstd: {compressor: "
      "{bytesIn: 4}}}}}");
  CHECK(has_line(text, "# TYPE palimpsest_opcounters_total counter"));
  CHECK(has_line(text, "palimpsest_opcounters_total{type=\"insert\"} 5"));
  CHECK(has_line(text, "palimpsest_opcounters_total{type=\"query\"} 7"));
  CHECK(has_line(text, "# TYPE palimpsest_mem_resident gauge"));
  CHECK(has_line(text, "palimpsest_mem_resident 43"));
  CHECK(has_line(text, "palimpsest_document_inserted_total 9"));
  CHECK(has_line(text, "palimpsest_commands_failed_total{command=\"find\"} 1"));
  CHECK(has_line(text, "palimpsest_commands_total{command=\"find\"} 3"));
  CHECK(has_line(text, "# TYPE palimpsest_cursor_open gauge"));
  CHECK(has_line(text, "palimpsest_network_compression_compressor_bytes_in_total{compressor=\"zstd\"} 4"));
}

TEST_CASE("Values that are no numbers become numbers, states, or nothing") {
  const std::string text = text_of(
      "{host: 'h', dedup: {enabled: true, profile: 'balanced', hops: {mean: 1.5, list: [{q: 0.5}]}}, "
      "oplog: {latest: {$timestamp: {t: 77, i: 3}}}, at: {$date: {$numberLong: '1500'}}, nothing: null, "
      "diskSpace: {state: 'plenty'}, repl: {setVersion: 1}, opLatencies: {reads: {ops: 4}}, "
      "wiredTiger: {cache: {'bytes read into cache': 12, 'tracked (%) of a=b': 1}}}");
  CHECK(has_line(text, "palimpsest_dedup_enabled 1"));
  CHECK(has_line(text, "palimpsest_dedup_profile{state=\"balanced\"} 1"));
  CHECK(has_line(text, "palimpsest_dedup_hops_mean 1.5"));
  CHECK(has_line(text, "palimpsest_oplog_latest_timestamp_seconds 77"));
  CHECK(has_line(text, "palimpsest_at_timestamp_seconds 1.5"));
  CHECK(has_line(text, "palimpsest_disk_space_state{state=\"plenty\"} 1"));
  CHECK(has_line(text, "# TYPE palimpsest_wired_tiger_cache_bytes_read_into_cache untyped"));
  CHECK(has_line(text, "palimpsest_wired_tiger_cache_tracked_of_a_b 1"));
  for (const char* absent : {"host", "repl_", "list", "op_latencies", "nothing"}) CHECK(text.find(absent) == std::string::npos);
}

TEST_CASE("A label may be any text") {
  const std::string text = text_of("{dedup: {databases: {'a \"b\" \\\\c': {ratio: 2.0}}}}");
  CHECK(has_line(text, R"(palimpsest_dedup_databases_ratio{database="a \"b\" \\c"} 2)"));
}

TEST_CASE("Patterns of rules fit whole ways") {
  CHECK(fits("a.*", {"a", "b"}));
  CHECK(!fits("a.*", {"a", "b", "c"}));
  CHECK(!fits("a.*", {"a"}));
  CHECK(fits("a.**", {"a", "b", "c"}));
  CHECK(!fits("a.**", {"a"}));
  CHECK(!fits("a.b", {"a", "c"}));
}

TEST_CASE("The lag of a member is beside the primary, and there is none without one") {
  const auto status = [](const char* first) {
    return bson::json(
        std::string("{myState: 2, members: [{name: 'a:1', health: 1.0, state: ") + first +
        ", optime: {ts: {$timestamp: {t: 100, i: 1}}}}, {name: 'b:2', health: 1.0, state: 2, pingMs: 3, optime: {ts: "
        "{$timestamp: {t: 93, i: 1}}}}, {name: 'c:3', health: 0.0, state: 8, optime: {ts: {$timestamp: {t: 0, i: 0}}}}]}");
  };
  Families families;
  add_members(status("1"), families);
  const std::string text = text_of(families);
  CHECK(has_line(text, "palimpsest_repl_state 2"));
  CHECK(has_line(text, "palimpsest_repl_member_state{member=\"c:3\"} 8"));
  CHECK(has_line(text, "palimpsest_repl_member_lag_seconds{member=\"a:1\"} 0"));
  CHECK(has_line(text, "palimpsest_repl_member_lag_seconds{member=\"b:2\"} 7"));
  CHECK(text.find("lag_seconds{member=\"c:3\"}") == std::string::npos);
  CHECK(has_line(text, "palimpsest_repl_member_ping_ms{member=\"b:2\"} 3"));
  Families alone;
  add_members(status("2"), alone);
  CHECK(text_of(alone).find("lag_seconds") == std::string::npos);
}

TEST_CASE("Each number of a server's status becomes a metric, and each rule has something to say") {
  server::TestServer server{server::TestServer::SetOfOne()};
  server.run(bson::json("{insert: 'c', documents: [{_id: 1}]}"));
  server.run(bson::json("{find: 'c'}"));
  const bson::Document status = server.run("admin", bson::json("{serverStatus: 1}"));
  size_t figures = 0, states = 0;
  std::vector<std::string_view> unused = counter_patterns();
  Path path;
  each_leaf(status, path, [&](const Path& at, const bson::ValueView& value) {
    if (is_left_out(at)) return;
    figures += is_figure(value);
    states += value.is_string() && is_state(at);
    std::erase_if(unused, [&](std::string_view pattern) { return is_figure(value) && fits(pattern, at); });
  });
  CHECK(figures > 500);
  CHECK(states == 2);
  CHECK(unused == std::vector<std::string_view>());
  Families families;
  families.add_status(status);
  size_t metrics = 0;
  for (const auto& family : families.take()) metrics += family.metric.size();
  CHECK(metrics == figures + states);
}
