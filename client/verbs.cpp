#include "client/verbs.h"

namespace client {

std::vector<Verb> add_verbs(CLI::App& app) {
  return {add_clone(app),    add_log(app),   add_diff(app),   add_apply(app), add_branch(app), add_merge(app),   add_stash(app),
          add_snapshot(app), add_stats(app), add_advise(app), add_top(app),   add_backup(app), add_restore(app), add_check(app)};
}

}  // namespace client
