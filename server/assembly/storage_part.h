// This part of the server keeps the data: it has the engine, the cursors over it
// and the background work on both.
#pragma once

#include <memory>

#include "storage/store.h"

namespace server {

struct Options;
struct Services;

// These return what the options say about the data directory, and about the size of its log.
storage::StoreOptions store_options(const Options& options, base::Clock& clock);
uint64_t oplog_bytes(const Options& options);

class StoragePart {
 public:
  // Opens the data directory, lends engine, log and cursors to `services`, and adds its parameters and serverStatus sections.
  // Throws OperationError if the directory can't be opened.
  StoragePart(const Options& options, Services& services);
  // Starts the background work, once the parameters have their values.
  void start();
  // Called before the server ends, while clients are still served: another member of the set takes over if one can.
  void hand_over();
  ~StoragePart();  // kills the cursors, closes the engine
  StoragePart(const StoragePart&) = delete;
  StoragePart& operator=(const StoragePart&) = delete;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace server
