// Any message of a member is taken as a question or an answer beside the library's. It is refused, or is written as it was read.
#include "base/fuzz_target.h"
#include "replication/consensus/inquiry.h"

namespace {

using namespace replication::consensus;

bool run(BytesView input) {
  const auto inquiry = decode_inquiry(input);
  if (!inquiry) return false;
  base::check(is_inquiry(input));
  if (inquiry->question) {
    base::check(inquiry_question() == input);
    return true;
  }
  const auto again = decode_inquiry(inquiry_answer(inquiry->answer));
  base::check(again && !again->question && again->answer.applied == inquiry->answer.applied &&
              again->answer.electable == inquiry->answer.electable);
  Answers answers;
  answers.note(2, inquiry->answer, 1000);
  base::check(answers.applied_by(2) == inquiry->answer.applied && answers.stands(2, 1001).yes == inquiry->answer.electable);
  return true;
}

std::vector<Bytes> seeds() {
  return {inquiry_question(), inquiry_answer({.applied = 300, .electable = true}),
          inquiry_answer({.applied = UINT64_MAX, .electable = false})};
}

const base::FuzzTarget target("inquiry", run, seeds);

}  // namespace
