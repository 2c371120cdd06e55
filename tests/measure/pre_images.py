"""Measures what pre-images of change streams add to the log, and prints figures. It is no test.

    python -m tests.measure.pre_images HISTORY.xml.zst [--revisions 10000] [--operators]

from the root of the checkout, with what tests/requirements.txt names and `zstd`; PALIMPSEST_BIN is the folder of palimpsestd. HISTORY is a MediaWiki
export. Each page is a document that every revision replaces, or with `--operators` changes by $set, in the order of the file, in a collection with
changeStreamPreAndPostImages. `log` and `images` are the files of the log and of the pre-images after a checkpoint. Then a stream reads all changes with
their pre-images, and each is compared with the revision before.
"""
import argparse
import pathlib
import subprocess
import time
import xml.etree.ElementTree as ElementTree

from pymongo import ReplaceOne, UpdateOne

from tests.support.palimpsest import Server

BATCH = 100


def revisions(path, count):
    """(page, revision, text), as they stand in the file."""
    with subprocess.Popen(["zstd", "-dcq", path], stdout=subprocess.PIPE) as packed:
        page = 0
        for _, element in ElementTree.iterparse(packed.stdout):
            tag = element.tag.rsplit("}", 1)[-1]
            if tag == "revision":
                text = next(child for child in element if child.tag.endswith("text")).text or ""
                yield page, text
                count -= 1
                element.clear()
                if count == 0:
                    packed.kill()
                    return
            elif tag == "page":
                page += 1
                element.clear()


def load(client, history, operators):
    client.wiki.create_collection("pages", changeStreamPreAndPostImages={"enabled": True})
    batch, texts = [], {}
    began = time.monotonic()
    for number, (page, text) in enumerate(history):
        texts.setdefault(page, []).append(text)
        if operators:
            batch.append(UpdateOne({"_id": page}, {"$set": {"revision": number, "text": text}}, upsert=True))
        else:
            batch.append(ReplaceOne({"_id": page}, {"revision": number, "text": text}, upsert=True))
        if len(batch) == BATCH:
            client.wiki.pages.bulk_write(batch)
            batch = []
    if batch:
        client.wiki.pages.bulk_write(batch)
    return texts, time.monotonic() - began


def check(client, texts, start):
    """Reads every change with its pre-image. Returns how many there were, and how long it took."""
    seen, changes = {page: 0 for page in texts}, sum(len(each) for each in texts.values())
    began, count = time.monotonic(), 0
    with client.wiki.pages.watch(start_at_operation_time=start, full_document="required", full_document_before_change="required") as stream:
        while count < changes:
            event = stream.next()
            page = event["documentKey"]["_id"]
            if event["operationType"] != "insert":
                assert event["fullDocumentBeforeChange"]["text"] == texts[page][seen[page] - 1], (page, seen[page])
            assert event["fullDocument"]["text"] == texts[page][seen[page]], (page, seen[page])
            seen[page] += 1
            count += 1
    return count, time.monotonic() - began


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("history")
    arguments.add_argument("--revisions", type=int, default=10000)
    arguments.add_argument("--operators", action="store_true")
    options = arguments.parse_args()
    with Server("--replSet", "rs0", "--wiredTigerCacheSizeGB", "1") as server:
        server.initiate()
        with server.client(directConnection=True) as client:
            start = client.admin.command("ping")["operationTime"]
            texts, wrote = load(client, revisions(options.history, options.revisions), options.operators)
            count, read = check(client, texts, start)
            client.admin.command("fsync")
            log, images = ((pathlib.Path(server.dbpath) / f"{name}.wt").stat().st_size / 1e6 for name in ("oplog", "pre-images"))
    plain = sum(len(text) for page in texts.values() for text in page) / 1e6
    print(f"{count} revisions of {len(texts)} pages, {plain:.1f} MB of text; written in {wrote:.1f} s, read with images in {read:.1f} s, all as they were")
    print(f"log {log:.1f} MB, images {images:.1f} MB: together {(log + images) / log:.3f} times the log")


if __name__ == "__main__":
    main()
