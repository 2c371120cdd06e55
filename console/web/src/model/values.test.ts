import { expect, test } from "vitest";
import { asDate, asNumber, kind, same, shell } from "./values";

test("values are written as the shell writes them", () => {
  const cases: [any, string][] = [
    [{ $numberInt: "7" }, "7"], [{ $numberDouble: "1.0" }, "1.0"], [{ $numberLong: "9007199254740993" }, 'NumberLong("9007199254740993")'],
    [{ $date: { $numberLong: "0" } }, 'ISODate("1970-01-01T00:00:00.000Z")'], [{ $oid: "6b0997a62794bfb777f8ce4b" }, 'ObjectId("6b0997a62794bfb777f8ce4b")'],
    [{ a: [{ $numberInt: "1" }, null], "b c": "x\"y" }, '{a: [1, null], "b c": "x\\"y"}'],
    [{ $binary: { base64: "AAECAwQFBgcICQoLDA0ODw==", subType: "04" } }, 'UUID("00010203-0405-0607-0809-0a0b0c0d0e0f")'],
    [{ $timestamp: { t: 5, i: 2 } }, "Timestamp(5, 2)"], [{}, "{}"],
  ];
  for (const [value, text] of cases) expect(shell(value)).toBe(text);
});

test("a field whose name begins with a dollar sign makes an object no other type", () => {
  expect(kind({ $set: { a: 1 } } as any)).toBe("object");
});

test("types and the order of fields count", () => {
  expect(same({ $numberInt: "1" }, { $numberDouble: "1.0" })).toBe(false);
  expect(same({ a: 1, b: 2 }, { b: 2, a: 1 })).toBe(false);
  expect(same({ a: [1] }, { a: [1] })).toBe(true);
  expect(same(undefined, undefined)).toBe(true);
});

test("numbers and moments are read in both forms", () => {
  expect(asNumber({ $numberLong: "12" })).toBe(12);
  expect(asNumber("12")).toBeNaN();
  expect(asDate({ $date: "1970-01-01T00:00:01Z" })!.getTime()).toBe(1000);
  expect(asDate({ $date: { $numberLong: "1000" } })!.getTime()).toBe(1000);
});
