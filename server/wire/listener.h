// The listener accepts connections and serves them until it is stopped.
//
// Each connection is a coroutine of one of a few reactors (reactors.h): read a
// message, run its command on the thread that read it, write the reply. Waiting,
// for a slow client, a topology change, the journal, holds no thread.
#pragma once

#include <memory>
#include <string>

namespace server {
class Dispatcher;
struct Services;
}  // namespace server

namespace server::wire {

class Listener {
 public:
  Listener(Services& services, Dispatcher& dispatcher);
  ~Listener();

  // Binds and starts. Throws std::system_error (address_in_use …) with the
  // address in its message.
  void start();

  // The TCP port in use, also where 0 was asked for.
  int port() const;
  std::string unix_socket_path() const;  // empty: none

  // Accepts no more, interrupts what runs, closes every connection and waits
  // until they are gone. Safe to call twice.
  void stop();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace server::wire
