// The input is any text. It is refused as the URI of a remote, or what is shown of it names the same database and has nothing
// that was secret. It also stands behind a password, and behind an option that is one.
#include "base/fuzz_target.h"
#include "server/commands/versions/remote_server.h"

namespace {

using server::RemoteUri;

const std::string secret = "pl6Kt4vXw9";

bool accepted(const std::string& text, RemoteUri& uri) {
  return !base::refuses([&] { uri = RemoteUri::parse(text); });
}

void check_secret(const std::string& text) {
  RemoteUri uri;
  if (accepted(text, uri)) base::check(uri.shown.find(secret) == std::string::npos, "what is shown has no password");
}

// libmongoc takes a path for a host's name if it doesn't end in ".sock", and changes the case of names.
bool has_socket_file(const std::string& shown) {
  const size_t hosts = shown.find("://") + 3;
  return shown.substr(hosts, shown.find('/', hosts) - hosts).find("%2F") != std::string::npos;
}

bool run(base::BytesView input) {
  const std::string text(input);
  if (text.find(secret) == std::string::npos) {
    check_secret("mongodb://user:" + secret + "@" + text);
    check_secret("mongodb://host/shop?tls=true&tlsCertificateKeyFilePassword=" + secret + "&" + text);
    check_secret("mongodb://host/shop?authMechanismProperties=SERVICE_NAME:" + secret + "&" + text);
  }
  RemoteUri uri;
  if (!accepted(text, uri)) return false;
  base::check(uri.text == text && !uri.database.empty());
  RemoteUri shown;
  if (!has_socket_file(uri.shown) && accepted(uri.shown, shown))
    base::check(shown.shown == uri.shown && shown.database == uri.database);
  return true;
}

std::vector<base::Bytes> seeds() {
  return {"mongodb://host/shop", "mongodb://user:pass%40word@[::1]:27018,b.example/shop?authSource=admin&replicaSet=rs0&tls=true",
          "mongodb+srv://user:word@db.example.com/shop?authMechanism=SCRAM-SHA-256",
          "mongodb://%2Ftmp%2Fmongodb-27017.sock/shop?socketTimeoutMS=5000",
          "mongodb://CN%3Da@host/shop?authMechanism=MONGODB-X509&tlsCertificateKeyFile=a.pem&tlsCertificateKeyFilePassword=word"};
}

const base::FuzzTarget target("remote_uri", run, seeds);

}  // namespace
