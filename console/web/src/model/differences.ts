// These functions compare two documents field by field, and two texts word by word.
import { diffArrays, diffWordsWithSpace } from "diff";
import { entries, holdsValues, kind, same, type Document, type Value } from "./values";

export interface Difference {
  path: string;  // "author.name", "tags.2"
  before?: Value;  // absent: the field was not there
  after?: Value;
}

// Returns the differences in the order of `after`; what only `before` has comes last within its object.
export function differences(before: Value | undefined, after: Value | undefined, path = ""): Difference[] {
  if (same(before, after)) return [];
  if (holdsValues(before) && holdsValues(after) && kind(before) === kind(after)) {
    const found = Array.isArray(before) ? inArrays(before, after as Value[], path) : inObjects(before, after as Document, path);
    // Only the order of fields differs: both are shown whole.
    if (found.length > 0) return found;
  }
  return [{ path: path || "(document)", ...(before === undefined ? {} : { before }), ...(after === undefined ? {} : { after }) }];
}

function inObjects(before: Document, after: Document, path: string): Difference[] {
  const found: Difference[] = [];
  for (const [name, value] of entries(after)) found.push(...differences(Object.hasOwn(before, name) ? before[name] : undefined, value, join(path, name)));
  for (const [name, value] of entries(before)) if (!Object.hasOwn(after, name)) found.push({ path: join(path, name), before: value });
  return found;
}

// An element that was put into the middle is one difference, and not one for each element behind it. Places are those in `after`, and
// those of removed elements where they were in `before`.
function inArrays(before: Value[], after: Value[], path: string): Difference[] {
  const found: Difference[] = [];
  const runs = diffArrays(before.map(one => JSON.stringify(one)), after.map(one => JSON.stringify(one)), { timeout: 200 });
  if (!runs) return [];
  let old = 0, now = 0;
  for (let at = 0; at < runs.length; at++) {
    const run = runs[at]!, next = runs[at + 1];
    const count = run.value.length;
    if (!run.added && !run.removed) {
      old += count, now += count;
    } else if (run.removed && next?.added) {
      // Elements that changed are compared with each other; the rest was removed or added.
      const both = Math.min(count, next.value.length);
      for (let i = 0; i < both; i++) found.push(...differences(before[old + i], after[now + i], join(path, String(now + i))));
      for (let i = both; i < count; i++) found.push({ path: join(path, String(old + i)), before: before[old + i]! });
      for (let i = both; i < next.value.length; i++) found.push({ path: join(path, String(now + i)), after: after[now + i]! });
      old += count, now += next.value.length, at++;
    } else if (run.removed) {
      for (let i = 0; i < count; i++) found.push({ path: join(path, String(old + i)), before: before[old + i]! });
      old += count;
    } else {
      for (let i = 0; i < count; i++) found.push({ path: join(path, String(now + i)), after: after[now + i]! });
      now += count;
    }
  }
  return found;
}

const join = (path: string, name: string): string => (path === "" ? name : `${path}.${name}`);

export interface Piece {
  kind: "same" | "removed" | "added" | "skipped";
  text: string;
}

// Texts of which both are as long as this are compared inside.
export const longText = 40;
const around = 80;  // characters shown on each side of a change

// Returns undefined where the comparison would take too long: then both are shown whole.
export function textPieces(before: string, after: string): Piece[] | undefined {
  const parts = diffWordsWithSpace(before, after, { timeout: 300 });
  if (!parts) return undefined;
  return parts.flatMap((part, at): Piece[] => {
    if (part.added) return [{ kind: "added", text: part.value }];
    if (part.removed) return [{ kind: "removed", text: part.value }];
    return shortened(part.value, at === 0, at === parts.length - 1);
  });
}

// The part of an unchanged text that lies beside changes.
function shortened(text: string, first: boolean, last: boolean): Piece[] {
  const front = first ? 0 : around, back = last ? 0 : around;
  const skipped = text.length - front - back;
  if (skipped < around) return [{ kind: "same", text }];
  const pieces: Piece[] = [
    { kind: "same", text: text.slice(0, front) },
    { kind: "skipped", text: `… ${skipped} characters …` },
    { kind: "same", text: back === 0 ? "" : text.slice(-back) },
  ];
  return pieces.filter(piece => piece.text !== "");
}
