import { expect, test } from "vitest";
import { sample } from "./rates";

const status = (uptimeMillis: number, inserts: number, pid = 1) => ({
  pid, uptimeMillis, localTime: { $date: "2026-01-01T00:00:00Z" }, opcounters: { insert: inserts },
  opLatencies: { writes: { ops: inserts, latency: inserts * 2000 } }, dedup: { logicalBytes: 300, storedBytes: 100 },
});

test("rates come from two answers, by the server's own clock", () => {
  const now = sample(status(3000, 50), status(1000, 10));
  expect(now.operations.insert).toBe(20);
  expect(now.latencies.writes).toBe(2);
  expect(now.latencies.reads).toBeNull();
  expect(now.ratio).toBe(3);
});

test("the first answer and the one after a restart have no rates", () => {
  expect(sample(status(3000, 50), undefined).operations.insert).toBeNull();
  expect(sample(status(3000, 50, 2), status(1000, 90, 1)).operations.insert).toBeNull();
});
