"""Certificates for tests of TLS, made by the program `openssl`."""
import subprocess


def _run(*arguments, **options):
    subprocess.run(["openssl", *map(str, arguments)], check=True, capture_output=True, **options)


class Authority:
    """An authority of its own, whose files lie in `directory`."""

    def __init__(self, directory, name="ca"):
        self.directory = directory
        self.name = name
        self.key, self.file = directory / f"{name}.key", directory / f"{name}.pem"
        self.config = directory / f"{name}.cnf"
        _run("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", self.key, "-out", self.file,
             "-subj", f"/O=Palimpsest/CN={name}", "-days", 30)
        (directory / f"{name}.index").write_text("")
        (directory / f"{name}.crlnumber").write_text("1000\n")
        self.config.write_text(f"[ca]\ndefault_ca = here\n[here]\ndatabase = {directory}/{name}.index\n"
                               f"crlnumber = {directory}/{name}.crlnumber\ndefault_md = sha256\ndefault_crl_days = 30\n")

    def issue(self, name, subject=None, days=10, names="DNS:localhost,IP:127.0.0.1", password=None):
        """A PEM file with a certificate and its key. `days` below zero: its time is over."""
        key, request, certificate = (self.directory / f"{self.name}-{name}.{kind}" for kind in ("key", "csr", "crt"))
        subject = subject or f"/O=Palimpsest/OU=Tests/CN={name}"
        _run("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", key, "-out", request, "-subj", subject)
        extensions = self.directory / f"{self.name}-{name}.ext"
        extensions.write_text(f"subjectAltName={names}\n")
        if days >= 0:
            _run("x509", "-req", "-in", request, "-CA", self.file, "-CAkey", self.key, "-CAcreateserial", "-out", certificate, "-days", days,
                 "-extfile", extensions)
        else:
            new = self.directory / f"{self.name}-{name}-new"
            new.mkdir(exist_ok=True)
            _run("ca", "-batch", "-config", self._whole(new), "-in", request, "-out", certificate, "-extfile", extensions, "-notext",
                 "-startdate", "20200101000000Z", "-enddate", "20200201000000Z")
        if password:
            _run("pkcs8", "-topk8", "-in", key, "-out", f"{key}.locked", "-passout", f"pass:{password}", "-v2", "aes256")
            key = key.with_name(key.name + ".locked")
        both = self.directory / f"{self.name}-{name}.pem"
        both.write_text(certificate.read_text() + key.read_text())
        return both

    def _whole(self, new):
        config = new / "ca.cnf"
        config.write_text(f"[ca]\ndefault_ca = here\n[here]\ndatabase = {self.directory}/{self.name}.index\nnew_certs_dir = {new}\n"
                          f"certificate = {self.file}\nprivate_key = {self.key}\nrand_serial = yes\ndefault_md = sha256\n"
                          "unique_subject = no\npolicy = any\n[any]\norganizationName = optional\norganizationalUnitName = optional\n"
                          "commonName = supplied\n")
        return config

    def revoke(self, certificate):
        _run("ca", "-config", self.config, "-revoke", certificate, "-keyfile", self.key, "-cert", self.file)

    def revocations(self):
        """A PEM file with what was revoked."""
        file = self.directory / f"{self.name}.crl"
        _run("ca", "-config", self.config, "-gencrl", "-keyfile", self.key, "-cert", self.file, "-out", file)
        return file
