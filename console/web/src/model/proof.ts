// Checks in the browser, without trusting the server, that a document was in a commit, or that there was none: what
// tools/verify_proof.py does. Formats: docs/formats/merkle.md.
//
// Everything in a proof comes from whoever gave it, so every byte is checked; what doesn't fit throws Invalid, which says why.
export class Invalid extends Error {}

const SEARCH = 1, BUCKET_ROOT = 2, BUCKET_INNER = 3, LEAF = 4, EXTENSION = 5, BRANCH = 6;

function check(holds: unknown, why: string): asserts holds {
  if (!holds) throw new Invalid(why);
}

class Reader {
  private at = 0;
  constructor(private data: Uint8Array) {}

  left(): number {
    return this.data.length - this.at;
  }
  take(count: number): Uint8Array {
    check(count <= this.left(), "it is cut short");
    this.at += count;
    return this.data.subarray(this.at - count, this.at);
  }
  byte(): number {
    return this.take(1)[0]!;
  }
  // Numbers of a proof count bytes and steps, so one beyond 2^53 can't be right.
  varint(): number {
    let value = 0n;
    for (let shift = 0n; shift < 64n; shift += 7n) {
      const byte = this.byte();
      check(shift < 63n || byte <= 1, "a number is too long");
      value |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) {
        check(value <= BigInt(Number.MAX_SAFE_INTEGER), "a number is too large");
        return Number(value);
      }
    }
    throw new Invalid("a number is too long");
  }
  text(): Uint8Array {
    return this.take(this.varint());
  }
  path(): number[] {
    const count = this.varint();
    const halves = nibbles(this.take(Math.ceil(count / 2)));
    check(halves.slice(count).every(half => half === 0), "a path is damaged");
    return halves.slice(0, count);
  }
}

export const hex = (data: Uint8Array): string => Array.from(data, byte => byte.toString(16).padStart(2, "0")).join("");

export function fromHex(text: string): Uint8Array {
  check(/^([0-9a-f]{2})*$/i.test(text), "it is not hexadecimal");
  return Uint8Array.from(text.match(/../g) ?? [], pair => parseInt(pair, 16));
}

export const fromBase64 = (text: string): Uint8Array => Uint8Array.from(atob(text), one => one.charCodeAt(0));

const nibbles = (data: Uint8Array): number[] => Array.from(data).flatMap(byte => [byte >> 4, byte & 15]);
const equal = (a: Uint8Array, b: Uint8Array): boolean => compare(a, b) === 0;
const sha256 = async (data: Uint8Array): Promise<Uint8Array> => new Uint8Array(await crypto.subtle.digest("SHA-256", data as BufferSource));

// Orders bytes as the keys of a tree are ordered.
function compare(a: Uint8Array, b: Uint8Array): number {
  const length = Math.min(a.length, b.length);
  for (let i = 0; i < length; i++) if (a[i] !== b[i]) return a[i]! - b[i]!;
  return a.length - b.length;
}

// Returns the value that the tree below the root has for the key, or undefined where the key isn't there.
export async function verify(root: Uint8Array, key: Uint8Array, proof: Uint8Array): Promise<Uint8Array | undefined> {
  const reader = new Reader(proof);
  check(equal(reader.take(4), new Uint8Array([0x50, 0x4d, 0x50, 1])), "it is of no known format");
  let expected = root;
  let level: number | undefined, family: string | undefined;
  let below: { bucket: number; span: number; fanOut: number } | undefined;
  let way = nibbles(key);
  for (;;) {
    const data = reader.text();
    check(data.length > 0, "a step is empty");
    const section = data[0] === SEARCH ? reader.text() : new Uint8Array();
    check(equal(await sha256(data), expected), "a step has another hash than the one above says");
    const node = new Reader(data);
    const kind = node.byte();
    check(kind >= SEARCH && kind <= BRANCH, "a step is of no known kind");
    const kin = kind === SEARCH ? (family === "buckets" ? family : "search") : kind <= BUCKET_INNER ? "buckets" : "trie";
    check(family === undefined || family === kin, "its steps are of different structures");
    check(family === "buckets" || kind !== BUCKET_INNER, "its steps are in no order");
    let answered = false;
    let answer: Uint8Array | undefined;

    if (kind === SEARCH) {
      const own = node.byte();
      if (family === "buckets") check(below!.span === 0 && own === 0, "a bucket is not where it belongs");
      check(level === undefined || own + 1 === level, "a node is of another level");
      level = own;
      let digest: Uint8Array | undefined;
      while (node.left() > 0 && !digest) {
        const last = node.text(), hashed = node.take(32);
        if (compare(last, key) >= 0) digest = hashed;
      }
      if (!digest) {
        check(section.length === 0, "a section is of no use");
        answered = true;
      } else {
        check(equal(await sha256(section), digest), "a section has another hash");
        const entries = new Reader(section);
        let entry: Uint8Array, value: Uint8Array;
        do {
          check(entries.left() > 0, "a section ends before its last key");
          entry = entries.text(), value = entries.text();
        } while (compare(entry, key) < 0);
        if (level > 0) {
          expected = new Reader(value).take(32);
        } else {
          answered = true;
          answer = equal(entry, key) ? value : undefined;
        }
      }
    } else if (kind === BUCKET_ROOT) {
      check(family === undefined, "its steps are in no order");
      const buckets = node.varint(), fanOut = node.varint();
      check(buckets > 0 && buckets < 2 ** 32 && fanOut >= 2 && fanOut < 2 ** 32 && node.left() === 32, "the root of the buckets is damaged");
      expected = node.take(32);
      let span = buckets === 1 ? 0 : 1;
      while (span > 0 && span < Math.ceil(buckets / fanOut)) span *= fanOut;
      const first = (await sha256(key)).subarray(0, 8).reduce((sum, byte) => (sum << 8n) | BigInt(byte), 0n);
      below = { bucket: Number(first % BigInt(buckets)), span, fanOut };
    } else if (kind === BUCKET_INNER) {
      const { bucket, span, fanOut } = below!;
      check(span > 0, "a node of the buckets is damaged");
      node.take(32 * (Math.floor(bucket / span) % fanOut));
      expected = node.take(32);
      below!.span = Math.floor(span / fanOut);
    } else if (kind === BRANCH) {
      const [low, high] = node.take(2) as unknown as [number, number];
      const present = low | (high << 8), hasValue = node.byte();
      check(hasValue <= 1, "a node of the trie is damaged");
      const children = new Map<number, Uint8Array>();
      for (let half = 0; half < 16; half++) if ((present >> half) & 1) children.set(half, node.take(32));
      check(hasValue || node.left() === 0, "a node of the trie is damaged");
      if (way.length === 0) {
        answered = true;
        answer = hasValue ? node.take(node.left()) : undefined;
      } else {
        const child = children.get(way[0]!);
        if (child) expected = child, way = way.slice(1);
        else answered = true;
      }
    } else {
      const path = node.path();
      if (kind === EXTENSION) check(path.length > 0 && node.left() === 32, "a node of the trie is damaged");
      const matches = path.length <= way.length && path.every((half, place) => half === way[place]);
      way = way.slice(path.length);
      if (kind === EXTENSION && matches) {
        expected = node.take(32);
      } else {
        answered = true;
        answer = kind === LEAF && matches && way.length === 0 ? node.take(node.left()) : undefined;
      }
    }
    if (answered) {
      check(reader.left() === 0, "it goes on behind its end");
      return answer;
    }
    family = kin;
  }
}

export interface Proven {
  collection: string;  // the UUID's hexadecimal digits
  key: Uint8Array;  // by which the tree knows the _id
  hash?: Uint8Array;  // SHA-256 of the document; undefined: there was none
  document?: Uint8Array;  // undefined where the proof has it no more
  parents: string[];
  time: Date;
}

// Returns what the commit with this id (64 hexadecimal digits, from whoever is trusted) says, by the proof.
export async function verifyCommit(commit: string, proof: Uint8Array): Promise<Proven> {
  const id = fromHex(commit);
  check(id.length === 32, "a commit's id has 64 hexadecimal digits");
  const reader = new Reader(proof);
  check(equal(reader.take(4), new Uint8Array([0x50, 0x4d, 0x43, 1])), "it is of no known format");
  const statement = await readStatement(id, reader.text());
  const label = reader.text(), key = reader.text(), tree = reader.text();
  const length = reader.varint();
  const document = length > 0 ? reader.take(length - 1) : undefined;
  check(reader.left() === 0, "it goes on behind its end");
  const collection = hex(label), root = statement.roots.get(collection);
  check(!root || root.some(byte => byte !== 0), "the commit's id says nothing of documents");
  let value: Uint8Array | undefined;
  if (root) value = await verify(root, key, tree);
  else check(tree.length === 0, "a tree of no collection");
  check(!value || value.length === 32, "a leaf has no hash of a document");
  check(!document || (value && equal(await sha256(document), value)), "the document has another hash");
  return { collection, key, parents: statement.parents, time: statement.time, ...(value ? { hash: value } : {}), ...(document ? { document } : {}) };
}

// Reads the bytes whose hash is the commit's id.
async function readStatement(id: Uint8Array, data: Uint8Array) {
  check(equal(await sha256(data), id), "it is of another commit");
  const reader = new Reader(data);
  check(new TextDecoder().decode(reader.take(17)) === "palimpsest commit", "the commit is of no known format");
  check(reader.byte() === 2, "the commit's id says nothing of documents");
  const parents: string[] = [];
  for (let left = reader.varint(); left > 0; left--) parents.push(hex(reader.take(32)));
  reader.text();  // message and author
  const roots = new Map<string, Uint8Array>();
  for (let left = reader.varint(); left > 0; left--) {
    const label = hex(reader.text()), root = reader.take(32);
    check(!roots.has(label), "a collection is in the commit twice");
    roots.set(label, root);
  }
  const time = new DataView(reader.take(8).slice().buffer).getBigInt64(0, true);
  check(reader.left() === 0, "the commit goes on behind its end");
  return { parents, roots, time: new Date(Number(time)) };
}
