// saslStart and saslContinue carry a client's login by SCRAM. The answer to a wrong password waits a while, if the client's
// address has failed several times before.
#include "base/clock_time.h"
#include "base/error.h"
#include "bson/builder.h"
#include "bson/json.h"
#include "server/commands/users/principal_arguments.h"

namespace server {
namespace {

using base::ErrorCode;
using base::OperationError;

// A payload is binary, or a text in base64.
base::Bytes payload_of(const bson::Element& payload) {
  if (payload.type() == bson::Type::binary) return base::Bytes(payload.as_binary().bytes);
  if (payload.is_string()) {
    auto bytes = bson::base64_decode(payload.as_string());
    if (bytes) return std::move(*bytes);
    throw OperationError(ErrorCode::failed_to_parse, "payload is no base64");
  }
  if (!payload.exists()) throw OperationError(ErrorCode::no_such_key, "Missing expected field \"payload\"");
  throw OperationError(ErrorCode::type_mismatch, "Wrong type for field; expected BinData or string for payload");
}

void append_step(const access::Conversation::Step& step, bson::Builder& reply) {
  reply.append("conversationId", users::Logins::conversation_id)
      .append("done", step.done)
      .append("payload", bson::Binary{0, step.reply});
}

[[noreturn]] void fail() {
  throw OperationError(ErrorCode::authentication_failed, "Authentication failed.");
}

class SaslStart : public Command {
 public:
  std::string_view name() const override { return "saslStart"; }
  std::string_view help() const override { return "First step in a SASL authentication conversation."; }
  std::optional<FieldNames> fields() const override {
    static constexpr std::string_view names[] = {"mechanism", "payload", "autoAuthorize", "options", "db"};
    return names;
  }
  bool before_auth() const override { return true; }
  bool stable_api() const override { return true; }

  void run(OperationContext& op, const Request& request, bson::Builder& reply) override {
    const Arguments arguments(request);
    const auto options = arguments.object("options").value_or(bson::DocumentView());
    const base::Bytes payload = payload_of(request.body.find("payload"));
    append_step(logins_of(op).start(op.client(), {.db = request.db,
                                                  .mechanism = arguments.required_string("mechanism"),
                                                  .payload = payload,
                                                  .skip_empty_exchange = options.find("skipEmptyExchange").truthy(),
                                                  .speculative = false}),
                reply);
  }
};

class SaslContinue : public Command {
 public:
  std::string_view name() const override { return "saslContinue"; }
  std::string_view help() const override { return "Subsequent steps in a SASL authentication conversation."; }
  std::optional<FieldNames> fields() const override {
    static constexpr std::string_view names[] = {"conversationId", "payload", "db"};
    return names;
  }
  bool before_auth() const override { return true; }
  bool stable_api() const override { return true; }

  void run(OperationContext& op, const Request& request, bson::Builder& reply) override {
    if (op.parked_until) fail();
    users::Logins& logins = logins_of(op);
    const int64_t conversation = Arguments(request).required_integer("conversationId");
    const base::Bytes payload = payload_of(request.body.find("payload"));
    try {
      append_step(logins.go_on(op.client(), conversation, payload), reply);
    } catch (const OperationError& error) {
      const int64_t delay_ms = error.code() == ErrorCode::authentication_failed ? logins.delay_ms(op.client()) : 0;
      if (delay_ms == 0) throw;
      // Nothing ends the wait before its time.
      op.parked = OperationContext::Parked{base::now(op.services().clock) + std::chrono::milliseconds(delay_ms), [](auto) {}};
    }
  }
};

}  // namespace

std::unique_ptr<Command> make_sasl_start_command() {
  return std::make_unique<SaslStart>();
}
std::unique_ptr<Command> make_sasl_continue_command() {
  return std::make_unique<SaslContinue>();
}

}  // namespace server
