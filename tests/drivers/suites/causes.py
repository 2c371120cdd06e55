"""Finds why a driver's test failed or was skipped, from its name and its error.

A cause is a feature of the server, or of the machine, that the test needs. The first cause that fits counts: a test of a
collation in a change stream counts for change streams. Transactions are no cause: the server has them, and a test of one that
fails counts for what else it needs, or as "other".
"""
import re

# Causes of failures: (cause, pattern for the test's name, pattern for its error). An empty pattern fits nothing.
FAILURES = (
    ("client-side encryption", r"encrypt|csfle|fle2|qe_", r"pymongocrypt|encryptedFields|autoEncrypt"),
    ("change streams", r"change_?-?stream", r"\$changeStream|ChangeStream"),
    ("authentication and TLS", r"test_auth|test_ssl|test_saslprep|scram|x509|_tls|oidc",
     r"'(?:createUser|updateUser|dropUser|dropAllUsersFromDatabase|saslStart|saslContinue|authenticate)'|sslSupport|tlsCAFile"),
    ("collation", r"collation", r"[Cc]ollation"),
    ("validators", r"", r"validators are not supported|option 'validator' is not supported"),
    ("views", r"", r"views are not supported"),
    ("kinds of index: text, 2d, 2dsphere, hashed", r"", r"Index type '\w+' is not supported|\$geoNear|\$text"),
    ("server-side JavaScript", r"map_reduce|mapreduce|javascript|interruptInUseConnections", r"mapReduce|\$where|\$function|JavaScript"),
    ("time series", r"time_?-?series", r"time-?series"),
    ("clustered collections", r"clustered", r"clusteredIndex"),
    ("pre- and post-images", r"pre_?post|preandpost", r"changeStreamPreAndPostImages"),
    ("a set of several members", r"Topology_lifecycle", r"No replica set members match selector \"Secondary|find 4 \{'topologyDescriptionChangedEvent'"),
    ("commands of mongod's own tests", r"", r"no such command: 'test\w+'"),
    ("the machine: DNS, containers", r"uri_options_srv", r"DNS query name does not exist|nameservers failed|'container': "),
)

# Causes of skips: (cause, pattern for the reason).
SKIPS = (
    ("another kind of server", r"mongos|shard|[Ss]tandalone|load balancer|LOAD_BALANCER|serverless|data lake|mmapv1|storage engine|[Ss]econdar|replica set|topolog|SRV|Atlas"),
    ("another version of the server", r"version|runOn"),
    ("client-side encryption", r"crypt|FLE|KMS|fle|csfle"),
    ("authentication and TLS", r"[Aa]uth|TLS|SSL|ssl|GSSAPI|KERBEROS|certificates|OCSP|OIDC"),
    ("not asked of this driver", r"not (?:run|applicable|supported) (?:on|by|in) (?:sync|pymongo|python)|[Pp]y[Mm]ongo|PYTHON-\d+|not implemented|async|does not support|not support"),
    ("a package or setting that this run hasn't", r"No module|not (?:installed|available|set|enabled)|[Rr]equires|must be|need|resolv"),
)


def cause_of_failure(test, text):
    """`text` is what the test runner shows of the failure: source and error. The error's own lines count most."""
    error = "\n".join(line for line in text.splitlines() if line.startswith("E ")) or text[-2000:]
    for cause, name, _ in FAILURES:
        if name and re.search(name, test, re.IGNORECASE):
            return cause
    for shown in (error, text):
        for cause, _, pattern in FAILURES:
            if re.search(pattern, shown):
                return cause
    return "other"


def cause_of_skip(reason):
    for cause, pattern in SKIPS:
        if re.search(pattern, reason):
            return cause
    return "other"
