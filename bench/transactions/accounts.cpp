#include "bench/transactions/accounts.h"

#include <fmt/core.h>

#include <algorithm>
#include <stdexcept>

#include "bson/builder.h"

namespace bench::transactions {
namespace {

constexpr int64_t first_balance = 1'000;
constexpr uint64_t amount_max = 100;
constexpr size_t batch_documents = 1'000;

}  // namespace

Accounts::Accounts(size_t count) : balances_(count, first_balance) {}

void Accounts::fill(Clients& clients) const {
  for (size_t begin = 0; begin < balances_.size(); begin += batch_documents) {
    bson::Builder insert;
    insert.append("insert", collection);
    {
      auto documents = insert.array("documents");
      for (size_t id = begin; id < std::min(balances_.size(), begin + batch_documents); ++id)
        documents.object().append("_id", static_cast<int64_t>(id)).append("balance", balances_[id]);
    }
    clients.ask(insert.append("$db", database).done());
  }
}

Transfer Accounts::choose(Spread spread) {
  const bool hot = spread == Spread::hot && random_.unit() < hot_share;
  const size_t among = hot ? hot_accounts : balances_.size();
  const uint64_t from = random_.below(among);
  const uint64_t to = (from + 1 + random_.below(among - 1)) % among;
  return {static_cast<int64_t>(from), static_cast<int64_t>(to), static_cast<int64_t>(1 + random_.below(amount_max))};
}

void Accounts::acknowledged(const Transfer& transfer) {
  balances_[static_cast<size_t>(transfer.from)] -= transfer.amount;
  balances_[static_cast<size_t>(transfer.to)] += transfer.amount;
}

void Accounts::verify(Clients& clients) const {
  bson::Builder find;
  find.append("find", collection);
  find.object("sort").append("_id", 1);
  find.append("batchSize", static_cast<int64_t>(balances_.size() + 1));
  const bson::Document reply = clients.ask(find.append("$db", database).done());
  size_t id = 0;
  int64_t sum = 0;
  for (const bson::Element& each : reply.find("cursor").as_document().find("firstBatch").as_document()) {
    const bson::DocumentView account = each.as_document();
    const int64_t balance = account.find("balance").to_int64();
    if (id == balances_.size() || account.find("_id").to_int64() != static_cast<int64_t>(id))
      throw std::runtime_error(fmt::format("account {} isn't there, or there are more than {}", id, balances_.size()));
    if (balance != balances_[id])
      throw std::runtime_error(
          fmt::format("account {} has {}, and the acknowledged transfers make {} of it", id, balance, balances_[id]));
    sum += balance;
    ++id;
  }
  const int64_t sum_before = first_balance * static_cast<int64_t>(balances_.size());
  if (id != balances_.size() || sum != sum_before)
    throw std::runtime_error(fmt::format("{} accounts have {}, and {} had {} before", id, sum, balances_.size(), sum_before));
}

}  // namespace bench::transactions
