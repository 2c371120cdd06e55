// Verification reads everything back and compares.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "datasets/replay/ledger.h"

namespace datasets::replay {

class Client;

struct Verified {
  uint64_t documents = 0;  // these came back as written, byte for byte
  uint64_t bytes = 0;      // of them together
  uint64_t by_id = 0;      // of them read a second time by _id
  uint64_t differing = 0;
  uint64_t missing = 0;
  uint64_t unexpected = 0;  // never acknowledged to us, or found twice
  double seconds = 0;
  std::vector<std::string> examples;  // the first few errors

  bool sound() const { return differing == 0 && missing == 0; }
};

// Scans every collection and compares it with the ledger; every `by_id_step`th document is then fetched by its _id too. Throws
// ClientError.
Verified verify_all(Client& client, const std::string& db, const std::vector<std::string>& collections, Ledger& ledger,
                    uint64_t by_id_step = 16);

// Compares the log of acknowledged writes with the server, a thousand writes at a time. Only the last write of an _id counts. It
// takes 24 bytes of memory a write.
Verified verify_log(Client& client, const std::string& db, const std::string& log_path);

}  // namespace datasets::replay
