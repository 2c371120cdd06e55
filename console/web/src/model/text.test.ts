import { expect, test } from "vitest";
import { bytes, duration, figure, ratio } from "./text";

test("figures are short", () => {
  expect([bytes(0), bytes(999), bytes(1500), bytes(310_272_000), bytes(undefined)]).toEqual(["0 B", "999 B", "1.5 kB", "310 MB", "–"]);
  expect([figure(0), figure(0.4234), figure(12.34), figure(1234.4)]).toEqual(["0", "0.42", "12.3", "1,234"]);
  expect([duration(0.05), duration(5), duration(3700), duration(200000)]).toEqual(["50 ms", "5.0 s", "1 h 1 min", "2 d 7 h"]);
  expect([ratio(300, 100), ratio(0, 0)]).toEqual(["3.00 : 1", "–"]);
});
