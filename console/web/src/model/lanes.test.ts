import { expect, test } from "vitest";
import { childrenFirst, Lanes, type Commit } from "./lanes";

const rows = (picture: string) => {
  const lanes = new Lanes();
  return picture.trim().split("\n").map(line => {
    const [commit, ...parents] = line.trim().split(/\s+/);
    return lanes.add({ commit: commit!, parents });
  });
};

test("one line of commits stays in one lane", () => {
  for (const row of rows("c b\nb a\na")) expect(row.column).toBe(0);
});

test("a branch runs beside the other and ends where they parted", () => {
  const [dev, main, common] = rows("dev a\nmain a\na");
  expect(dev).toMatchObject({ column: 0, below: [0] });
  expect(main).toMatchObject({ column: 1, through: [0], below: [0] });
  expect(common).toMatchObject({ column: 0, above: [0], through: [], below: [] });
});

test("a merge's second parent gets a lane of its own until it comes", () => {
  const [merge, main, dev, common] = rows("m x y\nx a\ny a\na");
  expect(merge).toMatchObject({ column: 0, below: [0, 1], width: 2 });
  expect(main).toMatchObject({ column: 0, above: [0], through: [1] });
  expect(dev).toMatchObject({ column: 1, above: [1], through: [0], below: [0] });
  expect(common).toMatchObject({ column: 0, above: [0] });
});

test("every lane that passes by comes from above and goes on below, in any history", () => {
  let seed = 5;
  const random = (below: number) => (seed = (seed * 48271) % 2147483647) % below;
  const history: Commit[] = [];
  for (let i = 2000; i >= 0; i--) {
    const parents = new Set<string>();
    for (let p = 0; p < (random(5) === 0 ? 2 : 1); p++) if (i > 0) parents.add(String(Math.max(0, i - 1 - random(6))));
    history.push({ commit: String(i), parents: [...parents] });
  }
  const lanes = new Lanes();
  let open = new Set<number>();
  for (const one of history) {
    const row = lanes.add(one);
    expect(new Set([...row.through, ...row.above])).toEqual(open);
    expect(row.through).not.toContain(row.above.length === 0 ? row.column : -1);
    open = new Set([...row.through, ...row.below]);
    expect(Math.max(row.column, ...open)).toBeLessThan(row.width);
  }
  expect(open.size).toBe(0);
});

test("a parent that was drawn before its child gets no line", () => {
  const [parent, child] = rows("a\nb a");
  expect(parent!.below).toEqual([]);
  expect(child!.below).toEqual([]);
});

test("commits of one moment are ordered with children first", () => {
  const order = childrenFirst([{ commit: "a", parents: [] }, { commit: "c", parents: ["b"] }, { commit: "b", parents: ["a"] }]).map(one => one.commit);
  expect(order).toEqual(["c", "b", "a"]);
  const deep = Array.from({ length: 20000 }, (_, i) => ({ commit: String(i), parents: i > 0 ? [String(i - 1)] : [] }));
  expect(childrenFirst(deep)[0]!.commit).toBe("19999");
});

test("a long history of short branches stays narrow", () => {
  const lanes = new Lanes();
  let width = 0;
  for (let i = 100_000; i > 0; i--)
    width = Math.max(width, lanes.add({ commit: String(i), parents: [String(i - 1), ...(i % 7 === 0 ? [String(i - 5)] : [])] }).width);
  expect(width).toBeLessThanOrEqual(4);
});
