#include "console/members.h"

#include <string_view>
#include <thread>
#include <vector>

namespace console {
namespace {

using Clock = std::chrono::steady_clock;

// The threads of the pool don't wake anybody who waits for a member by its name.
constexpr std::chrono::milliseconds looks_again_after{10};

std::vector<Member> members_that_answered(mongoc_client_t* client) {
  size_t count = 0;
  mongoc_server_description_t** all = mongoc_client_get_server_descriptions(client, &count);
  std::vector<Member> answered;
  for (size_t i = 0; i < count; ++i) {
    const std::string_view type = mongoc_server_description_type(all[i]);
    // Another member has said of it that it is the primary; it hasn't said anything itself.
    if (type != "Unknown" && type != "PossiblePrimary") answered.emplace_back(mongoc_server_description_new_copy(all[i]));
  }
  mongoc_server_descriptions_destroy_all(all, count);
  return answered;
}

std::string_view address_of(const Member& member) {
  return mongoc_server_description_host(member.get())->host_and_port;
}

bool is_in_connection_string(mongoc_client_t* client, std::string_view address) {
  for (const mongoc_host_list_t* host = mongoc_uri_get_hosts(mongoc_client_get_uri(client)); host; host = host->next)
    if (host->host_and_port == address) return true;
  return false;
}

bool is_named_by(const Member& member, const std::string& address) {
  const bson_t* hello = mongoc_server_description_hello_response(member.get());
  for (const char* list : {"hosts", "passives", "arbiters"}) {
    bson_iter_t field, one;
    if (!bson_iter_init_find(&field, hello, list) || !BSON_ITER_HOLDS_ARRAY(&field) || !bson_iter_recurse(&field, &one)) continue;
    while (bson_iter_next(&one))
      if (BSON_ITER_HOLDS_UTF8(&one) && address == bson_iter_utf8(&one, nullptr)) return true;
  }
  return false;
}

}  // namespace

base::Result<Member> wait_for_member(mongoc_client_t* client, const std::string& address, std::chrono::milliseconds patience) {
  const Clock::time_point deadline = Clock::now() + patience;
  for (;;) {
    std::vector<Member> answered = members_that_answered(client);
    bool named = answered.empty() || is_in_connection_string(client, address);
    for (Member& member : answered) {
      if (address_of(member) == address) return std::move(member);
      named = named || is_named_by(member, address);
    }
    if (!named) return base::Failure{base::ErrorCode::node_not_found, "there is no member " + address};
    if (Clock::now() >= deadline)
      return base::Failure{base::ErrorCode::host_unreachable, "the member " + address + " doesn't answer"};
    std::this_thread::sleep_for(looks_again_after);
  }
}

}  // namespace console
