// The system knows some things of a TCP connection that Asio has no word for. A call doesn't block, and may run beside another
// thread's reads and writes, as long as nobody closes the descriptor meanwhile.
#pragma once

#include <chrono>

namespace replication::consensus {

// Bytes written that have not arrived and still may. 0 where the other side has ended the connection.
int unacknowledged_bytes(int descriptor);
// Has the other side, which sends nothing, ended the connection?
bool closed_by_peer(int descriptor);
// Has the other side sent something that nobody has read?
bool has_unread(int descriptor);
// The address family of a socket; 0 for what is none.
int family_of(int descriptor);
// The system breaks the connection when the other side hasn't acknowledged something for so long.
void set_patience(int descriptor, std::chrono::milliseconds patience);

}  // namespace replication::consensus
