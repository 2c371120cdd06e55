import { expect, test } from "vitest";
import { besidePipeline, changeOf } from "./beside";

test("a change is told by the side that lacks the document", () => {
  expect(changeOf({ before: null, after: {} })).toBe("insert");
  expect(changeOf({ before: {}, after: null })).toBe("delete");
  expect(changeOf({ before: {}, after: {} })).toBe("update");
});

test("the pipeline reads the other side's collection, and leaves out other kinds of changes", () => {
  const stages = besidePipeline("shop@early", "pages", "insert");
  expect(stages[1]).toEqual({ $unionWith: { db: "shop@early", coll: "pages", pipeline: [{ $project: { before: "$$ROOT" } }] } });
  expect(stages[3]).toEqual({ $match: { $expr: { $and: [{ $ne: ["$before", "$after"] }, { $eq: ["$before", null] }] } } });
  expect(besidePipeline("shop", "pages", "")[3]).toEqual({ $match: { $expr: { $and: [{ $ne: ["$before", "$after"] }] } } });
});
