"""Makes documents with many versions, and waits until dedup is done with them."""
import random

from tests.support.waiting import wait_until


def words(rng, length):
    text = ""
    while len(text) < length:
        text += "".join(rng.choice("abcdefghijklmnopqrstuvwxyz") for _ in range(rng.randint(2, 9))) + " "
    return text


def revisions(seed, pages, count, length=1500, first=0):
    """Versions of texts, in any order; the versions of one text lie far apart."""
    rng = random.Random(seed)
    texts = [words(rng, rng.randint(length // 2, length * 3 // 2)) for _ in range(pages)]
    documents = []
    for i in range(count):
        page = min(rng.randrange(pages), rng.randrange(pages))
        at = rng.randrange(len(texts[page]))
        texts[page] = texts[page][:at] + words(rng, 30) + texts[page][at + rng.randrange(40):]
        documents.append({"_id": first + i, "page": page, "minor": page % 2 == 0, "text": texts[page]})
    return documents


def settle(client):
    """Waits until everything is encoded and written back. Returns the section `dedup` of serverStatus."""
    def figures():
        return client.admin.command("serverStatus")["dedup"]

    def settled():
        dedup = figures()
        idle = dedup["queue"]["records"] == dedup["queue"]["collectionsBehind"] == dedup["writeBack"]["records"] == 0
        return dedup if idle else None

    return wait_until(settled, lambda: figures(), pause=0.1)
