// Any document, and any bytes in hexadecimal digits, are taken as a resume token: it is refused as an operation is, or its own
// document is read as the same token.
//
// The input is a byte, and then a document (0) or the bytes of a token (any other).
#include "base/fuzz_target.h"
#include "base/hex.h"
#include "bson/validate.h"
#include "server/query/changes/resume_token.h"

namespace {

using base::Bytes;
using base::BytesView;
using server::query::ResumeToken;

constexpr char of_document = 0, of_bytes = 1;

bool parses(bson::DocumentView document) {
  ResumeToken token;
  if (base::refuses([&] { token = ResumeToken::parse(document); })) return false;
  const bson::Document written = token.document();
  const ResumeToken again = ResumeToken::parse(written);
  base::check(again.same_event(token) && again.part == token.part, "a token is read as it was written");
  base::check(again.document().bytes() == written.bytes());
  return true;
}

bool run(BytesView input) {
  if (input.empty()) return false;
  const BytesView rest = input.substr(1);
  if (input[0] == of_document) {
    const auto document = bson::validate(rest);
    return document.ok() && parses(document.value());
  }
  bson::Builder token;
  token.append("_data", base::to_hex(rest));
  return parses(token.done());
}

std::vector<Bytes> seeds() {
  const Bytes uuid = "0123456789abcdef";
  std::vector<Bytes> out;
  for (const ResumeToken& token :
       {ResumeToken::at(storage::Stamp{1'700'000'000} << 32 | 7),
        ResumeToken{
            .time = storage::Stamp{1'700'000'000} << 32, .kind = ResumeToken::Kind::event, .index = 300, .collection = uuid},
        ResumeToken{.time = 5, .kind = ResumeToken::Kind::event, .from_invalidate = true, .collection = uuid},
        ResumeToken{.time = 5, .kind = ResumeToken::Kind::difference, .index = 1, .collection = uuid, .part = 2}}) {
    const bson::Document document = token.document();
    out.push_back(Bytes(1, of_document) + Bytes(document.bytes()));
    out.push_back(Bytes(1, of_bytes) + *base::from_hex(document["_data"].as_string()));
  }
  return out;
}

const base::FuzzTarget target("resume_token", run, seeds);

}  // namespace
