// The part of the server that keeps data: the engine, the cursors over it and
// what looks after both while nobody asks.
#pragma once

#include <memory>

namespace server {

struct Options;
struct Services;

class StoragePart {
 public:
  // Opens the data directory, lends engine, log and cursors to `services`, and
  // adds its parameters and serverStatus sections. Throws OperationError where it
  // can't be opened.
  StoragePart(const Options& options, Services& services);
  // Lets the background work begin, once the parameters have their values.
  void start();
  // Before the server ends, while clients are still served: another member of the set takes over where one can.
  void hand_over();
  ~StoragePart();  // kills the cursors, closes the engine
  StoragePart(const StoragePart&) = delete;
  StoragePart& operator=(const StoragePart&) = delete;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace server
