#include "replication/consensus/socket_state.h"

#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>
#include <catch2/catch.hpp>

#include "replication/consensus/test_support.h"

using namespace replication::consensus;
using asio::ip::tcp;

TEST_CASE("what a connection lost when it was reset is not on its way") {
  asio::io_context context;
  tcp::acceptor acceptor(context, tcp::endpoint(asio::ip::address_v4::loopback(), 0));
  tcp::socket out(context), in(context);
  out.connect(acceptor.local_endpoint());
  acceptor.accept(in);
  out.non_blocking(true);
  const Bytes bytes(64 << 10, 'x');
  asio::error_code full;
  while (!full) out.write_some(asio::buffer(bytes), full);
  CHECK(unacknowledged_bytes(out.native_handle()) > 0);  // nobody reads it
  CHECK_FALSE(closed_by_peer(out.native_handle()));
  in.set_option(asio::socket_base::linger(true, 0));  // closing resets the connection
  in.close();
  CHECK(wait_until([&] { return closed_by_peer(out.native_handle()); }));
  CHECK(unacknowledged_bytes(out.native_handle()) == 0);
}
