// Tests use an engine on a temporary directory, and run commands against it in process.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/clock.h"
#include "bson/json.h"
#include "server/commands/all.h"
#include "server/core/collection_usage.h"
#include "server/core/command_registry.h"
#include "server/core/fail_points.h"
#include "server/core/metrics.h"
#include "server/core/operation.h"
#include "server/core/options.h"
#include "server/core/parameters.h"
#include "server/core/services.h"
#include "server/core/session_registry.h"
#include "server/core/status_sections.h"
#include "server/core/topology.h"
#include "server/dispatch/dispatch.h"
#include "server/dispatch/profiler.h"
#include "server/query/cursor_registry.h"
#include "server/query/plan/implies.h"
#include "server/query/plan/index_filters.h"
#include "server/query/plan/plan_cache.h"
#include "storage/store.h"
#include "storage/testing/temporary_store.h"

namespace server::query {

class TestServer {
 public:
  explicit TestServer(base::Clock& clock = base::system_clock())
      : clock_(clock), store_(std::make_unique<storage::Store>(options())) {
    services_.store = store_.get();
    services_.cursors = &cursors_;
    store_->catalog().set_predicate_compiler(plan::compile_partial_filter);
    add_all_commands(commands_);
  }

  storage::Store& store() { return *store_; }
  Services& services() { return services_; }
  CursorRegistry& cursors() { return cursors_; }

  // Makes the collection if it doesn't exist.
  std::shared_ptr<storage::Collection> collection(const std::string& name) {
    return store_->catalog().open_or_create("test." + name);
  }

  void insert(const std::string& name, bson::DocumentView document) {
    auto target = collection(name);
    storage::in_transaction(*store_, [&](storage::Transaction& transaction) { target->insert(transaction, document); });
  }
  void insert(const std::string& name, const char* json) { insert(name, bson::json(json)); }

  // `spec` has the form of createIndexes, without the index's name.
  void create_index(const std::string& name, const std::string& index_name, const char* spec) {
    bson::Builder named;
    named.append_all(bson::json(spec)).append("name", index_name);
    store_->catalog().create_indexes(collection(name), {storage::parse_index_spec(named.done())});
  }

  // Runs a command on the database `test`.
  bson::Document run(bson::DocumentView command) {
    bson::Builder body;
    body.append_all(command).append("$db", "test");
    const bson::Document document = body.done();
    const Request request{std::string(document.view().first().name), "test", document, {}};
    return dispatcher_.run(client_, request, false).body;
  }
  bson::Document run(const std::string& json) { return run(bson::json(json)); }

  // An operation of its own, for code below the commands.
  struct Operation {
    explicit Operation(TestServer& server)
        : body(bson::json("{test: 1}")),
          request{"test", "test", body, {}},
          op(server.services_, server.client_, request, nullptr) {}
    bson::Document body;
    Request request;
    OperationContext op;
  };

 private:
  storage::StoreOptions options() const {
    storage::StoreOptions options = storage::test_options(directory_.path());
    options.dedup.enabled = false;  // its work in the background has its own tests
    return options;
  }

  base::Clock& clock_;
  storage::TemporaryDirectory directory_;
  Options options_;
  ServerParameters parameters_;
  StatusSections status_;
  Metrics metrics_;
  OperationRegistry operations_;
  CommandRegistry commands_;
  Topology topology_;
  std::unique_ptr<storage::Store> store_;
  CursorRegistry cursors_{clock_};
  SessionRegistry sessions_;
  FailPoints fail_points_;
  CollectionUsage usage_;
  Profiler profiler_{options_};
  IndexFilters index_filters_;
  PlanCache plan_cache_;
  MemoryPool memory_{1 << 30, 1 << 29};
  Services services_{options_,  clock_,       parameters_, status_,   metrics_,       operations_, commands_, topology_,
                     sessions_, fail_points_, usage_,      profiler_, index_filters_, plan_cache_, memory_};
  Dispatcher dispatcher_{services_};
  Client client_{ClientId{1}, "127.0.0.1:1", "127.0.0.1:2", false};
};

}  // namespace server::query
