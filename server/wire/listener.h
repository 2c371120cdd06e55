// The listener accepts connections and serves them until it is stopped.
//
// Each connection is a coroutine of one of a few reactors (reactors.h): it reads a
// message, runs its command on the thread that read it, and writes the reply. No
// thread is held while it waits for a slow client, a topology change or the
// journal.
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

  // Returns the TCP port in use, also if the options asked for 0.
  int port() const;
  std::string unix_socket_path() const;  // empty: there is none

  // Accepts no more, interrupts running commands, closes every connection and waits until they are gone. May be called twice.
  void stop();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace server::wire
