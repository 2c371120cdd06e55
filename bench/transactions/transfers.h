// Clients make transfers, each in a session of its own and one after another, in one of two modes:
//
//   separate      update the one account, update the other
//   transaction   the same two updates with one transaction number, then commitTransaction
//
// When the server aborts a transaction, with an error that has the label TransientTransactionError, the client begins the same
// transfer again at once, as a new transaction.
#pragma once

#include <array>
#include <map>
#include <string>
#include <vector>

#include "bench/measure/clients.h"
#include "bench/transactions/accounts.h"

namespace bench::transactions {

enum class Mode { separate, transaction };

// This struct counts what all clients together did.
struct Transferred {
  uint64_t transfers = 0;   // all their writes were acknowledged
  uint64_t statements = 0;  // updates that were executed, of aborted transactions too
  uint64_t aborted = 0;
  std::map<std::string, uint64_t> errors;  // the names of those that aborted transactions, and how often each did
  double seconds = 0;
  Latency latency;  // of a whole transfer, from its first attempt on
};

class Transfers {
 public:
  // Opens a connection for each client. Throws std::runtime_error.
  Transfers(const std::string& address, size_t clients, Accounts& accounts, bson::Document write_concern);

  // Each client finishes the transfer that it has under way when the time is over. Throws std::runtime_error with the text of a
  // reply that is neither as it should be nor an abort.
  Transferred run(Mode mode, Spread spread, std::chrono::duration<double> time);

 private:
  struct Client {
    std::array<char, 16> session;
    int64_t transaction = 0;  // its number, and the highest so far
    Transfer transfer;
    int done = 0;  // requests of the transfer that were answered
    std::chrono::steady_clock::time_point begun;
  };
  bson::Document request(const Client& client, Mode mode) const;

  Clients connections_;
  Accounts& accounts_;
  bson::Document write_concern_;
  std::vector<Client> clients_;
};

}  // namespace bench::transactions
