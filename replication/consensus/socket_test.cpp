#include "replication/consensus/socket.h"

#include <sys/socket.h>

#include <catch2/catch.hpp>
#include <chrono>
#include <thread>

using namespace replication::consensus;

TEST_CASE("what a connection lost when it was reset is not on its way") {
  const Socket listener = listen_on("127.0.0.1", 0);
  const Socket out = connect_to("127.0.0.1", port_of(listener), 5000);
  REQUIRE(out.open());
  {
    const Socket in(::accept(listener.descriptor(), nullptr, nullptr));
    REQUIRE(in.open());
    const base::Bytes bytes(64 << 10, 'x');
    while (::send(out.descriptor(), bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL) > 0) {
    }
    CHECK(out.unacknowledged() > 0);  // nobody reads it
    CHECK_FALSE(out.closed_by_peer());
    const linger at_once{1, 0};
    ::setsockopt(in.descriptor(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  }
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (!out.closed_by_peer() && std::chrono::steady_clock::now() < until)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  CHECK(out.closed_by_peer());
  CHECK(out.unacknowledged() == 0);
}
