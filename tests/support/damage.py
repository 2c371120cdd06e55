"""Damages files of a server that isn't running, as a failing disk would."""

UNIT = 512
ROW_LEAF = 7  # WiredTiger's type of a page that holds rows


def leaf_pages(path):
    """The places in a table's file where pages of rows begin, also those that the table doesn't use any more."""
    data = path.read_bytes()
    return [at for at in range(UNIT, len(data) - UNIT, UNIT)
            if data[at + 24] == ROW_LEAF and 0 < int.from_bytes(data[at + 28:at + 32], "little") <= len(data) - at
            and int.from_bytes(data[at + 28:at + 32], "little") % UNIT == 0]


def middle_first(path):
    """The places of these pages, those nearest to the middle of the file first. Some may be from before the last checkpoint."""
    return sorted(leaf_pages(path), key=lambda at, middle=path.stat().st_size // 2: abs(at - middle))


def damage_rows(path, keep=lambda at, pages: False):
    """Flips a byte of each page of rows that isn't to be kept. Returns how many these are."""
    all_pages = leaf_pages(path)
    pages = [at for at in all_pages if not keep(at, all_pages)]
    data = bytearray(path.read_bytes())
    for at in pages:
        data[at + 50] ^= 0x21
    path.write_bytes(data)
    return len(pages)


def largest_file(server):
    """Returns the file that has the records of the largest collection."""
    return max(server.dbpath.glob("records-*.wt"), key=lambda path: path.stat().st_size)


def named(lines, kind):
    """Returns the `_id`s, which are numbers, of the documents that a repair's warnings call lost, or restored."""
    return {int(line.split("{ _id: ")[1].split(" }")[0]) for line in lines if line.startswith(kind)}
