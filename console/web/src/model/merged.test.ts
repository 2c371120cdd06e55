import { expect, test } from "vitest";
import { MergedHistory, type Dated, type Stream } from "./merged";

const commit = (name: string, at: number, ...parents: string[]): Dated => ({ commit: name, parents, time: new Date(at) });

// Hands out its commits two at a time.
function stream(commits: Dated[]): Stream<Dated> {
  let at = 2;
  return {
    first: commits.slice(0, 2),
    get more() { return at < commits.length; },
    async next() { at += 2; return commits.slice(at - 2, at); },
    close() {},
  };
}

const read = async (merged: MergedHistory<Dated>) => {
  const all = merged.first;
  while (merged.more) all.push(...(await merged.next(1)));
  return all.map(one => one.commit);
};

test("histories that share commits are read as one, newest first", async () => {
  const shared = [commit("b", 2, "a"), commit("a", 1)];
  const main = [commit("d", 5, "c"), commit("c", 3, "b"), ...shared], dev = [commit("e", 4, "b"), ...shared];
  expect(await read(await MergedHistory.open([stream(main), stream(dev)]))).toEqual(["d", "e", "c", "b", "a"]);
});

test("of one moment, children come first", async () => {
  const main = [commit("a", 1)], dev = [commit("c", 1, "b"), commit("b", 1, "a"), commit("a", 1)];
  expect(await read(await MergedHistory.open([stream(main), stream(dev)]))).toEqual(["c", "b", "a"]);
});

test("no history has no commits", async () => {
  expect(await read(await MergedHistory.open([]))).toEqual([]);
});
