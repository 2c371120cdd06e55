#include "bench/transactions/transfers.h"

#include <cstring>
#include <stdexcept>

#include "bson/builder.h"
#include "bson/json.h"

namespace bench::transactions {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int updates = 2;

bool aborted_for_now(bson::DocumentView reply) {
  const bson::Element labels = reply.find("errorLabels");
  if (reply.find("ok").truthy() || !labels.is_array()) return false;
  for (const bson::Element& label : labels.as_document()) {
    if (label.is_string() && label.as_string() == "TransientTransactionError") return true;
  }
  return false;
}

std::string name_of_error(bson::DocumentView reply) {
  const bson::Element name = reply.find("codeName");
  return name.is_string() ? std::string(name.as_string()) : std::to_string(reply.find("code").to_int64());
}

void demand_one_updated(bson::DocumentView reply) {
  if (reply.find("nModified").to_int64() != 1) throw std::runtime_error("an update changed nothing: " + bson::to_json(reply));
}

}  // namespace

Transfers::Transfers(const std::string& address, size_t clients, Accounts& accounts, bson::Document write_concern)
    : connections_(address, clients), accounts_(accounts), write_concern_(std::move(write_concern)), clients_(clients) {
  for (Client& client : clients_) {
    for (size_t i = 0; i < client.session.size(); i += sizeof(uint64_t)) {
      const uint64_t half = base::entropy64();
      std::memcpy(client.session.data() + i, &half, sizeof half);
    }
  }
}

bson::Document Transfers::request(const Client& client, Mode mode) const {
  bson::Builder out;
  const bool commit = client.done == updates;
  const Transfer& transfer = client.transfer;
  if (commit) {
    out.append("commitTransaction", 1);
  } else {
    out.append("update", collection);
    auto list = out.array("updates");
    auto one = list.object();
    one.object("q").append("_id", client.done == 0 ? transfer.from : transfer.to);
    one.object("u").object("$inc").append("balance", client.done == 0 ? -transfer.amount : transfer.amount);
  }
  const std::string_view session(client.session.data(), client.session.size());
  out.object("lsid").append("id", bson::Binary{.subtype = 4, .bytes = session});
  if (mode == Mode::transaction) {
    out.append("txnNumber", client.transaction).append("autocommit", false);
    if (client.done == 0) out.append("startTransaction", true);
  }
  if (commit || mode == Mode::separate) out.append("writeConcern", write_concern_);
  return out.append("$db", commit ? "admin" : database).done();
}

Transferred Transfers::run(Mode mode, Spread spread, std::chrono::duration<double> time) {
  Transferred sum;
  std::vector<float> latencies_us;
  const int requests = mode == Mode::transaction ? updates + 1 : updates;
  const auto begun = Clock::now();
  const auto end = begun + std::chrono::duration_cast<Clock::duration>(time);
  const auto attempt = [&](Client& client) {
    client.done = 0;
    if (mode == Mode::transaction) ++client.transaction;
    return request(client, mode);
  };
  const auto begin = [&](Client& client) {
    client.transfer = accounts_.choose(spread);
    client.begun = Clock::now();
    return attempt(client);
  };
  connections_.converse([&](size_t number, const bson::DocumentView* reply) -> std::optional<bson::Document> {
    Client& client = clients_[number];
    if (!reply) return begin(client);
    if (mode == Mode::transaction && aborted_for_now(*reply)) {
      ++sum.aborted;
      ++sum.errors[name_of_error(*reply)];
      return attempt(client);
    }
    demand_accepted(*reply);
    if (client.done < updates) {
      demand_one_updated(*reply);
      ++sum.statements;
    }
    if (++client.done < requests) return request(client, mode);
    const auto now = Clock::now();
    latencies_us.push_back(std::chrono::duration<float, std::micro>(now - client.begun).count());
    accounts_.acknowledged(client.transfer);
    if (now >= end) return std::nullopt;
    return begin(client);
  });
  sum.transfers = latencies_us.size();
  sum.seconds = std::chrono::duration<double>(Clock::now() - begun).count();
  sum.latency = latency_of(std::move(latencies_us));
  return sum;
}

}  // namespace bench::transactions
