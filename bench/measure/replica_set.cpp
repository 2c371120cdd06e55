#include "bench/measure/replica_set.h"

#include <chrono>
#include <stdexcept>
#include <thread>

#include "bson/builder.h"
#include "bson/path.h"

namespace bench {
namespace {

using datasets::replay::Client;

constexpr const char* direct = "?directConnection=true";
constexpr int seconds_max = 60, settle_seconds_max = 300;

bson::Document configuration(const std::vector<std::unique_ptr<Server>>& members) {
  bson::Builder command;
  {
    auto config = command.object("replSetInitiate");
    config.append("_id", "bench");
    auto list = config.array("members");
    int32_t id = 0;
    for (const auto& member : members) list.object().append("_id", id++).append("host", member->host());
  }
  return command.done();
}

// Returns false also while no member answers: one that was copied starts anew.
bool is(const Server& member, const char* state) {
  bson::Builder hello;
  hello.append("hello", 1);
  try {
    const bson::Document reply = Client(member.uri() + direct).command("admin", hello.done());
    const bson::Element found = reply.find(state);
    return found.exists() && found.as_bool();
  } catch (const datasets::replay::ClientError&) {
    return false;
  }
}

}  // namespace

ReplicaSet::ReplicaSet(const SetOptions& options) {
  std::vector<std::string> arguments = options.arguments;
  arguments.insert(arguments.end(), {"--replSet", "bench"});
  for (size_t i = 0; i < options.members; ++i) {
    const Place place = options.network ? Place{options.network->on(i), options.network->address(i)} : Place{};
    members_.push_back(std::make_unique<Server>(options.program, arguments, options.scratch, place));
  }
  Client(members_.front()->uri() + direct).command("admin", configuration(members_));
  for (size_t i = 0; i < members_.size(); ++i) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(seconds_max);
    while (!is(*members_[i], i == 0 ? "isWritablePrimary" : "secondary")) {
      if (std::chrono::steady_clock::now() > until)
        throw std::runtime_error("the replica set doesn't come up: " + members_[i]->host());
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
  }
}

std::string ReplicaSet::uri(const std::string& options) const {
  return members_.front()->uri() + direct + (options.empty() ? "" : "&" + options);
}

double ReplicaSet::cpu_seconds() const {
  double sum = 0;
  for (const auto& member : members_) sum += member->cpu_seconds();
  return sum;
}

void ReplicaSet::synchronize() {
  bson::Builder note;
  note.append("note", "synchronized");
  const bson::Document document = note.done();
  Client(uri("w=" + std::to_string(members_.size()))).insert("bench", "synchronized", {document});
}

bson::Document ReplicaSet::settle(const Server& member) {
  bson::Builder ask;
  ask.append("serverStatus", 1);
  const bson::Document command = ask.done();
  Client client(member.uri() + direct);
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(settle_seconds_max);
  for (;;) {
    bson::Document status = client.command("admin", command);
    const auto left = [&](const char* path) { return bson::value_at(status, path).to_int64(); };
    if (left("dedup.queue.records") == 0 && left("dedup.queue.collectionsBehind") == 0 && left("dedup.writeBack.records") == 0)
      return status;
    if (std::chrono::steady_clock::now() > until)
      throw std::runtime_error(member.host() + " still has records to encode or to write back");
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
}

bson::Document ReplicaSet::settle() {
  for (size_t i = members_.size(); i-- > 1;) settle(*members_[i]);
  return settle(*members_.front());
}

bson::Document ReplicaSet::secondary_status() {
  return settle(*members_.back());
}

void ReplicaSet::fail_over() {
  members_.front()->kill();
  members_.erase(members_.begin());
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(seconds_max);
  for (;;) {
    for (size_t i = 0; i < members_.size(); ++i) {
      if (!is(*members_[i], "isWritablePrimary")) continue;
      std::swap(members_[0], members_[i]);
      return;
    }
    if (std::chrono::steady_clock::now() > until)
      throw std::runtime_error("no member takes over from the primary that was killed");
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

}  // namespace bench
