// This measures what access control adds to each command: the look whether users have changed, the rule, and the privileges.
#include "server/dispatch/authorize.h"

#include <benchmark/benchmark.h>

#include "bson/json.h"
#include "server/query/test_support.h"
#include "server/users/login.h"

namespace server {
namespace {

// A server whose users have the right to do what is asked by a role of the last of so many databases, or by root.
struct Guarded {
  Guarded() {
    options.authorization = true;
    services.store = &server.store();
    services.logins = &logins;
  }

  access::AuthorityPtr authority_with(int databases) const {
    auto made = std::make_shared<access::Authority>();
    made->user = {"ada", "admin"};
    if (databases == 0) made->privileges = *access::builtin_role({"root", "admin"});
    for (int i = 1; i <= databases; ++i) {
      const std::string db = i == databases ? "test" : "db" + std::to_string(i);
      made->privileges.add(*access::builtin_role({"readWrite", db}));
    }
    return made;
  }

  query::TestServer server;
  Options options;
  Services services{options,
                    server.services().clock,
                    server.services().parameters,
                    server.services().status,
                    server.services().metrics,
                    server.services().operations,
                    server.services().commands,
                    server.services().topology,
                    server.services().sessions,
                    server.services().fail_points,
                    server.services().usage,
                    server.services().profiler,
                    server.services().index_filters,
                    server.services().plan_cache,
                    server.services().memory};
  users::Users users{server.store()};
  users::Logins logins{options, base::system_clock(), &users, nullptr, {}};
};

void check_command(benchmark::State& state, const char* text, bool on) {
  static Guarded& guarded = *new Guarded;
  guarded.options.authorization = on;
  Client client(ClientId{1}, "127.0.0.1:1", "127.0.0.1:2", false);
  client.set_authority(guarded.authority_with(static_cast<int>(state.range(0))), guarded.users.generation());
  const bson::Document body = bson::json(text);
  const Request request{std::string(body.view().first().name), "test", body, {}};
  const Command* command = guarded.services.commands.find(request.command);
  OperationContext op(guarded.services, client, request, command);
  for (auto _ : state) authorize(op, *command);
}

constexpr const char* ping = "{ping: 1}";
constexpr const char* find = "{find: 'c', filter: {_id: 7}}";
constexpr const char* insert = "{insert: 'c', documents: [{_id: 1}]}";
constexpr const char* lookup =
    "{aggregate: 'c', pipeline: [{$match: {a: 1}}, {$lookup: {from: 'd', localField: 'a', foreignField: 'b', as: 'e'}}], cursor: "
    "{}}";

BENCHMARK_CAPTURE(check_command, find_without_access_control, find, false)->Arg(0);
// By the number of databases of which the user is reader and writer; 0: the user is root.
BENCHMARK_CAPTURE(check_command, ping, ping, true)->Arg(0);
BENCHMARK_CAPTURE(check_command, find, find, true)->Arg(0)->Arg(1)->Arg(100);
BENCHMARK_CAPTURE(check_command, insert, insert, true)->Arg(0)->Arg(1)->Arg(100);
BENCHMARK_CAPTURE(check_command, lookup, lookup, true)->Arg(0)->Arg(1)->Arg(100);

}  // namespace
}  // namespace server
