import { expect, test } from "vitest";
import { at, compose } from "./conflicts";

const n = (value: number) => ({ $numberInt: String(value) });

test("what one side alone changed is taken from it", () => {
  expect(compose({ a: n(1), b: n(1) }, { a: n(2), b: n(1) }, { a: n(1), b: n(3), c: n(4) }, new Map())).toEqual({ a: n(2), b: n(3), c: n(4) });
});

test("what one side removed is gone, unless it was chosen", () => {
  expect(compose({ a: n(1), b: n(1) }, { a: n(1), b: n(1) }, { a: n(1) }, new Map())).toEqual({ a: n(1) });
  expect(compose({ a: n(1), b: n(1) }, { a: n(1), b: n(1) }, { a: n(1) }, new Map([["b", "base" as const]]))).toEqual({ a: n(1), b: n(1) });
});

test("the chosen side counts for its path alone, in objects within objects too", () => {
  const base = { o: { x: n(1), y: n(1) } }, ours = { o: { x: n(2), y: n(2) } }, theirs = { o: { x: n(3), y: n(3) } };
  expect(compose(base, ours, theirs, new Map([["o.x", "theirs" as const]]))).toEqual({ o: { x: n(3), y: n(2) } });
});

test("fields keep our order, and theirs follow", () => {
  expect(Object.keys(compose(undefined, { b: n(1), a: n(1) }, { c: n(1), a: n(1), b: n(1) }, new Map()))).toEqual(["b", "a", "c"]);
});

test("a path leads to its value, and nowhere where there is none", () => {
  expect(at({ a: { b: [n(7)] } }, "a.b.0")).toEqual(n(7));
  expect(at({ a: {} }, "a.constructor")).toBeUndefined();
});
