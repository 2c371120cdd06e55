// The accounts are documents {_id, balance} of one collection. A transfer takes an amount from one of them and adds it to
// another, so the sum of all balances stays as it is.
#pragma once

#include <cstdint>
#include <vector>

#include "base/random.h"
#include "bench/measure/clients.h"

namespace bench::transactions {

inline constexpr const char* database = "bench";
inline constexpr const char* collection = "accounts";

struct Transfer {
  int64_t from = 0, to = 0;  // _ids; never the same
  int64_t amount = 0;
};

// Says which accounts transfers are between: any of them with the same probability, or mostly a few.
enum class Spread { uniform, hot };
inline constexpr size_t hot_accounts = 10;
inline constexpr double hot_share = 0.9;  // of the transfers are between those

class Accounts {
 public:
  // Takes at least hot_accounts.
  explicit Accounts(size_t count);

  // Inserts them. Throws std::runtime_error.
  void fill(Clients& clients) const;
  Transfer choose(Spread spread);
  // A transfer whose last write was acknowledged is counted.
  void acknowledged(const Transfer& transfer);
  // Reads all accounts. Throws std::runtime_error unless each balance is what the acknowledged transfers make of it, and their
  // sum what it was when they were filled.
  void verify(Clients& clients) const;

 private:
  std::vector<int64_t> balances_;  // as they have to be, by _id
  base::Random random_{7};
};

}  // namespace bench::transactions
