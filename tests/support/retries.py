"""Whether the driver gave a write its one retry."""
from pymongo.monitoring import CommandListener

WRITES = ("insert", "update", "delete", "findAndModify")


class Retries(CommandListener):
    """Listens to a client that one thread uses.

    PyMongo chooses a server, and looks then whether that server takes retryable writes. If its monitor has heard in between that
    the server isn't primary any more, the write is sent without a transaction number, and its error isn't retried.
    """

    def __init__(self):
        self._numbered = True

    def had_one(self):
        """Whether the last write that began had a retry. A write that fails before it begins had one."""
        numbered, self._numbered = self._numbered, True
        return numbered

    def started(self, event):
        if event.command_name in WRITES:
            self._numbered = "txnNumber" in event.command

    def succeeded(self, event):
        pass

    def failed(self, event):
        pass
