// These are forum posts as JSON lines, one post a line, oldest first:
//
//   {forum, thread_id, thread_title, post_id, user, timestamp, body, …}
//   -> {_id: post_id, forum, thread: {id, title}, user, timestamp, …, body}
//
// Without a post_id the posts are numbered. `views`, where a line has it, is
// the thread's view count.
#pragma once

#include "datasets/json_lines.h"
#include "datasets/loader.h"

namespace datasets {

class BoardsLoader : public Loader {
 public:
  BoardsLoader(InputFile file, Problems& problems) : lines_(std::move(file), problems) {}
  std::optional<Item> next() override;

 private:
  JsonLines lines_;
  int64_t count_ = 0;
};

}  // namespace datasets
