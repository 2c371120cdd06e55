import { expect, test } from "vitest";
import { differences, textPieces } from "./differences";

const n = (value: number) => ({ $numberInt: String(value) });

test("fields that differ are named by their paths", () => {
  expect(differences({ a: n(1), b: { c: n(2), d: n(3) }, e: n(4) }, { a: n(1), b: { c: n(5), d: n(3) }, f: n(6) })).toEqual([
    { path: "b.c", before: n(2), after: n(5) },
    { path: "f", after: n(6) },
    { path: "e", before: n(4) },
  ]);
  expect(differences({ a: n(1) }, { a: n(1) })).toEqual([]);
});

test("a value that changed its type is one difference", () => {
  expect(differences({ a: { b: n(1) } }, { a: [n(1)] })).toEqual([{ path: "a", before: { b: n(1) }, after: [n(1)] }]);
  expect(differences({ a: n(1) }, { a: { $numberDouble: "1.0" } })).toHaveLength(1);
});

test("an element in the middle of an array is one difference", () => {
  expect(differences({ t: ["a", "b", "c"] }, { t: ["a", "x", "b", "c"] })).toEqual([{ path: "t.1", after: "x" }]);
  expect(differences({ t: ["a", "b", "c"] }, { t: ["a", "c"] })).toEqual([{ path: "t.1", before: "b" }]);
  expect(differences({ t: [{ k: n(1), v: n(2) }] }, { t: [{ k: n(1), v: n(3) }] })).toEqual([{ path: "t.0.v", before: n(2), after: n(3) }]);
});

test("fields in another order differ, and both documents are shown", () => {
  expect(differences({ a: n(1), b: n(2) }, { b: n(2), a: n(1) })).toHaveLength(1);
});

test("a field that has the name of a built-in property is a field", () => {
  expect(differences({}, { constructor: "x" } as any)).toEqual([{ path: "constructor", after: "x" }]);
});

test("documents that were made or removed differ as a whole", () => {
  expect(differences(undefined, { a: n(1) })).toEqual([{ path: "(document)", after: { a: n(1) } }]);
});

test("the pieces of a text make both texts again, but for what is skipped", () => {
  const before = "the quick brown fox jumps over the lazy dog", after = "the quick red fox jumps over a lazy dog";
  const pieces = textPieces(before, after)!;
  const text = (without: string) => pieces.filter(piece => piece.kind !== without).map(piece => piece.text).join("");
  expect(text("added")).toBe(before);
  expect(text("removed")).toBe(after);
});

test("long unchanged stretches are skipped", () => {
  const filler = "word ".repeat(500);
  const pieces = textPieces(filler + "old" + filler, filler + "new" + filler)!;
  expect(pieces.map(piece => piece.kind)).toEqual(["skipped", "same", "removed", "added", "same", "skipped"]);
});
