import { expect, test } from "vitest";
import { readSlow } from "./slow";

test("slow operations are found among the lines of a log", () => {
  const line = (millis: number) =>
    JSON.stringify({ t: { $date: "2026-01-01T00:00:00.000+00:00" }, s: "I", msg: "Slow query", attr: { ns: "shop.pages", durationMillis: millis, planSummary: "COLLSCAN", command: { find: "pages" } } });
  const found = readSlow([line(120), '{"msg":"client metadata"}', "Slow query, but damaged", line(300)]);
  expect(found.map(one => one.millis)).toEqual([300, 120]);
  expect(found[0]).toMatchObject({ ns: "shop.pages", plan: "COLLSCAN", command: { find: "pages" } });
});
