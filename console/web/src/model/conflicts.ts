// A conflict that somebody decides field by field becomes the document that the merge takes.
import { entries, kind, same, type Document, type Value } from "./values";

export type Side = "base" | "ours" | "theirs";

// Merges the three documents: what one side alone changed is taken from it, and for each path in `choices` the chosen side counts.
// If both changed a field and nobody chose, ours counts. The result's fields are in the order of ours, with those that only theirs has at the end.
export function compose(base: Document | undefined, ours: Document, theirs: Document, choices: ReadonlyMap<string, Side>, path = ""): Document {
  const result: Document = {};
  const names = [...entries(ours).map(([name]) => name), ...entries(theirs).map(([name]) => name).filter(name => !Object.hasOwn(ours, name))];
  const of = (side: Document | undefined, name: string): Value | undefined => (side && Object.hasOwn(side, name) ? side[name] : undefined);
  for (const name of names) {
    const here = path === "" ? name : `${path}.${name}`;
    const sides = { base: of(base, name), ours: of(ours, name), theirs: of(theirs, name) };
    const value = decide(sides, choices, here);
    // A name such as __proto__ becomes a field like others.
    if (value !== undefined) Object.defineProperty(result, name, { value, enumerable: true, writable: true, configurable: true });
  }
  return result;
}

function decide(sides: Record<Side, Value | undefined>, choices: ReadonlyMap<string, Side>, path: string): Value | undefined {
  const choice = choices.get(path);
  if (choice) return sides[choice];
  if (same(sides.ours, sides.theirs) || same(sides.theirs, sides.base)) return sides.ours;
  if (same(sides.ours, sides.base)) return sides.theirs;
  if (isObject(sides.ours) && isObject(sides.theirs))
    return compose(isObject(sides.base) ? sides.base : undefined, sides.ours, sides.theirs, choices, path);
  return sides.ours;
}

const isObject = (value: Value | undefined): value is Document => value !== undefined && kind(value) === "object";

// The value at a path such as "author.name".
export function at(document: Value | undefined, path: string): Value | undefined {
  let value: Value | undefined = document;
  for (const name of path.split(".")) {
    if (value === undefined || value === null || typeof value !== "object" || !Object.hasOwn(value, name)) return undefined;
    value = (value as Document)[name];
  }
  return value;
}
