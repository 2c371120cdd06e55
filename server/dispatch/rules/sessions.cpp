// These are the rules of commands about sessions and transactions.
#include "server/dispatch/rules/rules.h"

namespace server::rules {
namespace {

using enum Action;

bool kills_any(const Asker& asker) {
  return asker.cluster({killAnySession});
}

constexpr NamedRule list[] = {
    {"abortTransaction", anybody},
    {"commitTransaction", anybody},
    {"coordinateCommitTransaction", members_only},
    {"endSessions", anybody},
    {"killAllSessions", kills_any},
    {"killAllSessionsByPattern", kills_any},
    {"killSessions", anybody},  // only one's own: a session's id is nobody else's to know
    {"logout", anybody},
    {"refreshLogicalSessionCacheNow", anybody},
    {"refreshSessions", anybody},
    {"rotateCertificates", [](const Asker& asker) { return asker.cluster({rotateCertificates}); }},
    {"startSession", anybody},
};

}  // namespace

std::span<const NamedRule> sessions_rules() {
  return list;
}

}  // namespace server::rules
