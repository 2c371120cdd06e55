"""Documents with many versions, and waiting until dedup is done with them."""
import random
import time


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


def settle(client, seconds=60):
    """Until everything is encoded and written back."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        dedup = client.admin.command("serverStatus")["dedup"]
        if dedup["queue"]["records"] == dedup["queue"]["collectionsBehind"] == dedup["writeBack"]["records"] == 0:
            return dedup
        time.sleep(0.1)
    raise AssertionError(f"it doesn't settle: {dedup['queue']} {dedup['writeBack']}")
