#include "console/web_server.h"

#include <httplib.h>

#include <optional>
#include <stdexcept>

#include "bson/builder.h"
#include "bson/json.h"
#include "console/allowed_commands.h"
#include "console/page.h"

namespace console {
namespace {

using base::ErrorCode;

constexpr size_t request_bytes_max = 64 << 20;  // a document of 16 MB takes several times as much as JSON
constexpr size_t threads = 16;

// These headers tell a browser to keep others out of the page: it loads from the console alone, runs no script that stands in the
// page, and is shown in no frame. Nothing stays in a cache, because answers are data.
const httplib::Headers& guarding_headers() {
  static const httplib::Headers headers = {
      {"Content-Security-Policy",
       "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; "
       "form-action 'none'; frame-ancestors 'none'"},
      {"Cache-Control", "no-store"},
      {"Referrer-Policy", "no-referrer"},
      {"X-Content-Type-Options", "nosniff"},
      {"X-Frame-Options", "DENY"},
      {"Cross-Origin-Opener-Policy", "same-origin"},
      {"Cross-Origin-Resource-Policy", "same-origin"},
  };
  return headers;
}

// Sends a text as it is. Given as a whole, the library would compress it with Brotli as well as that can be done, which takes a
// second for a few hundred kilobytes, and the way on this machine is short.
void send(httplib::Response& response, std::string text, const char* type) {
  const size_t size = text.size();
  if (size == 0) return response.set_content("", 0, type);
  response.set_content_provider(size, type, [text = std::move(text)](size_t offset, size_t length, httplib::DataSink& sink) {
    return sink.write(text.data() + offset, length);
  });
}

void answer(httplib::Response& response, int status, bson::DocumentView reply, bson::JsonMode mode = bson::JsonMode::relaxed) {
  response.status = status;
  send(response, bson::to_json(reply, mode), "application/json");
}

void refuse(httplib::Response& response, int status, ErrorCode code, std::string_view message) {
  answer(response, status, failed_reply(static_cast<int32_t>(code), base::code_name(code), message));
}

// A page of its own where the console's can't be shown. Its icon is nothing, which keeps browsers from asking for one.
void small_page(httplib::Response& response, std::string_view head, std::string_view body) {
  send(response,
       "<!doctype html><html lang=\"en\"><head><title>Palimpsest console</title><link rel=\"icon\" href=\"data:,\">" +
           std::string(head) + "</head><body>" + std::string(body) + "</body></html>",
       "text/html; charset=utf-8");
}

void turn_away(httplib::Response& response, int status, std::string_view message) {
  response.status = status;
  small_page(response, "", "<p>" + std::string(message) + "</p>");
}

std::string text_of(bson::DocumentView request, std::string_view name) {
  const bson::Element field = request[name];
  return field.is_string() ? std::string(field.as_string()) : std::string();
}

// The command with what was typed in it, or nullopt after an answer that says what is wrong.
std::optional<bson::Document> command_of(bson::DocumentView request, httplib::Response& response) {
  const bson::Element command = request["command"], texts = request["texts"];
  if (!command.is_object() || (texts.exists() && !texts.is_object()))
    return refuse(response, 400, ErrorCode::failed_to_parse, "the request has no command"), std::nullopt;
  bson::Builder whole;
  whole.append_all(command.as_document());
  if (!texts.exists()) return whole.done();
  for (const bson::Element& typed : texts.as_document()) {
    if (!typed.is_string() || command.as_document().has(typed.name))
      return refuse(response, 400, ErrorCode::failed_to_parse, "texts has strings that aren't in the command"), std::nullopt;
    const auto value = bson::value_from_json(typed.as_string());
    if (!value.ok())
      return refuse(response, 400, ErrorCode::failed_to_parse, std::string(typed.name) + ": " + value.failure().message),
             std::nullopt;
    whole.append(typed.name, value.value());
  }
  return whole.done();
}

bson::JsonMode mode_of(bson::DocumentView request) {
  return text_of(request, "json") == "canonical" ? bson::JsonMode::canonical : bson::JsonMode::relaxed;
}

}  // namespace

struct WebServer::Http {
  Http(Runner& commands, int wanted, bool may_write) : runner(commands), writes(may_write), port(bind(wanted)), gate(port) {
    server.new_task_queue = [] { return new httplib::ThreadPool(threads); };
    server.set_payload_max_length(request_bytes_max);
    // Head and body of an answer are two packets: without this the second one waits for the browser's word about the first.
    server.set_tcp_nodelay(true);
    server.set_keep_alive_timeout(5);
    server.set_keep_alive_max_count(1000);
    server.set_default_headers(guarding_headers());
    server.set_pre_routing_handler([this](const httplib::Request& request, httplib::Response& response) {
      return let_in(request, response) ? httplib::Server::HandlerResponse::Unhandled : httplib::Server::HandlerResponse::Handled;
    });
    server.set_exception_handler([](const httplib::Request&, httplib::Response& response, const std::exception_ptr& thrown) {
      try {
        std::rethrow_exception(thrown);
      } catch (const base::OperationError& error) {
        refuse(response, 400, error.code(), error.what());
      } catch (const std::exception& error) {
        refuse(response, 500, ErrorCode::internal_error, error.what());
      }
    });
    pages();
    commands_and_cursors();
  }

  int bind(int wanted) {
    // The library's own choice, SO_REUSEPORT, would let another program of this user listen beside the console.
    server.set_socket_options([](socket_t socket) {
      const int yes = 1;
      setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    });
    if (wanted == 0) {
      const int free = server.bind_to_any_port("127.0.0.1");
      if (free > 0) return free;
    } else if (server.bind_to_port("127.0.0.1", wanted)) {
      return wanted;
    }
    throw std::runtime_error("port " + std::to_string(wanted) +
                             " of 127.0.0.1 can't be bound; --port chooses another, 0 a free one");
  }

  // Every request comes by here first.
  bool let_in(const httplib::Request& request, httplib::Response& response) {
    if (request.get_header_value_count("Host") != 1 || !gate.host_is_ours(request.get_header_value("Host")) ||
        !gate.origin_is_ours(request.get_header_value("Origin"))) {
      turn_away(response, 403, "This is not the console's address.");
      return false;
    }
    if (request.method != "GET" && request.method != "POST" && request.method != "HEAD") {
      turn_away(response, 405, "The console takes GET and POST.");
      return false;
    }
    if (request.path == "/login") return true;
    if (!gate.cookie_is_right(request.get_header_value("Cookie"))) {
      turn_away(response, 401, "Open the address that <code>palimpsest console</code> has printed.");
      return false;
    }
    if (request.method == "POST" && !gate.csrf_is_right(request.get_header_value("X-Console-Csrf"))) {
      refuse(response, 403, ErrorCode::unauthorized, "the request is not from the console's own page; load the page again");
      return false;
    }
    return true;
  }

  void pages() {
    server.Get("/login", [this](const httplib::Request& request, httplib::Response& response) {
      if (!gate.token_is_right(request.get_param_value("token")))
        return turn_away(response, 401, "The token in this address is not right.");
      response.set_header("Set-Cookie", gate.set_cookie());
      // Browsers don't send a strict cookie along with a redirect of a page that another program opened, but from a page of ours
      // they do.
      small_page(response, "<meta http-equiv=\"refresh\" content=\"0;url=/\">", "");
    });
    const auto file = [this](const char* path, std::string_view content, const char* type) {
      server.Get(path, [content, type](const httplib::Request&, httplib::Response& response) {
        send(response, std::string(content), type);
      });
    };
    file("/", page::html, "text/html; charset=utf-8");
    file("/console.js", page::script, "text/javascript; charset=utf-8");
    file("/console.css", page::style, "text/css; charset=utf-8");
    file("/licences.txt", page::licences, "text/plain; charset=utf-8");
    server.Get("/session", [this](const httplib::Request&, httplib::Response& response) {
      bson::Builder session;
      session.append("ok", 1.0).append("csrf", gate.csrf()).append("writes", writes);
      session.append("hosts", runner.hosts()).append("database", runner.database());
      answer(response, 200, session.done());
    });
  }

  // Hands the request's body on, or answers that it is none.
  template <class Handle>
  void post(const char* path, Handle handle) {
    server.Post(path, [handle](const httplib::Request& request, httplib::Response& response) {
      const auto body = bson::from_json(request.body);
      if (!body.ok()) return refuse(response, 400, ErrorCode::failed_to_parse, body.failure().message);
      handle(body.value().view(), response);
    });
  }

  void commands_and_cursors() {
    post("/command", [this](bson::DocumentView request, httplib::Response& response) {
      const std::string db = text_of(request, "db");
      const std::optional<bson::Document> command = command_of(request, response);
      if (!command) return;
      const auto allowed = check_command(db, *command, writes);
      if (!allowed.ok())
        return refuse(response, allowed.failure().code == ErrorCode::unauthorized ? 403 : 400, allowed.failure().code,
                      allowed.failure().message);
      const Target target{allowed.value().primary, text_of(request, "member")};
      answer(response, 200, runner.run(db, *command, target), mode_of(request));
    });
    post("/next", [this](bson::DocumentView request, httplib::Response& response) {
      const bson::Element size = request["batchSize"];
      const int64_t documents = size.is_number() ? size.to_int64() : 100;
      if (documents < 1 || documents > batch_documents_max)
        return refuse(response, 400, ErrorCode::bad_value, "batchSize is out of range");
      answer(response, 200, runner.next(text_of(request, "cursor"), documents), mode_of(request));
    });
    post("/close", [this](bson::DocumentView request, httplib::Response& response) {
      runner.close(text_of(request, "cursor"));
      bson::Builder done;
      answer(response, 200, done.append("ok", 1.0).done());
    });
  }

  Runner& runner;
  const bool writes;
  httplib::Server server;
  const int port;
  const Gate gate;
};

WebServer::WebServer(Runner& runner, int port, bool writes) : http_(std::make_unique<Http>(runner, port, writes)) {}
WebServer::~WebServer() = default;

int WebServer::port() const {
  return http_->port;
}
std::string WebServer::address() const {
  return "http://127.0.0.1:" + std::to_string(http_->port) + "/login?token=" + http_->gate.token();
}
void WebServer::serve() {
  http_->server.listen_after_bind();
}
void WebServer::stop() {
  http_->server.stop();
}

}  // namespace console
