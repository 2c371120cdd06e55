import { expect, test } from "vitest";
import { databaseAt } from "./states";

test("dots and slashes of a state's name are escaped in a database's name", () => {
  expect(databaseAt("shop", "feature/one.two")).toBe("shop@feature%2Fone%2Etwo");
  expect(databaseAt("shop", "main")).toBe("shop");
  expect(databaseAt("shop", "dev~2")).toBe("shop@dev~2");
});
