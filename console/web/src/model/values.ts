// Documents as canonical Extended JSON: every value keeps its type, so that what is shown can be sent back unchanged.
export type Value = null | boolean | string | number | Value[] | { [name: string]: Value };
export type Document = { [name: string]: Value };

export type Kind =
  | "double" | "int" | "long" | "decimal" | "string" | "object" | "array" | "date" | "objectId" | "binary" | "bool" | "null"
  | "regex" | "timestamp" | "code" | "symbol" | "minKey" | "maxKey" | "undefined" | "dbPointer";

const wrappers: Record<string, Kind> = {
  $numberDouble: "double", $numberInt: "int", $numberLong: "long", $numberDecimal: "decimal", $date: "date", $oid: "objectId",
  $binary: "binary", $regularExpression: "regex", $timestamp: "timestamp", $code: "code", $symbol: "symbol", $minKey: "minKey",
  $maxKey: "maxKey", $undefined: "undefined", $dbPointer: "dbPointer",
};

export function kind(value: Value): Kind {
  if (value === null) return "null";
  if (typeof value === "boolean") return "bool";
  if (typeof value === "string") return "string";
  if (typeof value === "number") return Number.isInteger(value) ? "int" : "double";
  if (Array.isArray(value)) return "array";
  const name = Object.keys(value)[0];
  return name !== undefined && Object.hasOwn(wrappers, name) ? wrappers[name]! : "object";
}

export const holdsValues = (value: Value | undefined): value is Document | Value[] =>
  value !== undefined && (kind(value) === "object" || kind(value) === "array");

// Names and values; of an array, places and values.
export function entries(value: Document | Value[]): [string, Value][] {
  return Array.isArray(value) ? value.map((one, place) => [String(place), one]) : Object.entries(value);
}

// The same type and the same content; as in BSON, the order of fields counts.
export const same = (a: Value | undefined, b: Value | undefined): boolean =>
  a === b || (a !== undefined && b !== undefined && JSON.stringify(a) === JSON.stringify(b));

function date(value: Value): string {
  const moment = typeof value === "string" ? new Date(value) : new Date(Number((value as { $numberLong: string }).$numberLong));
  return Number.isNaN(moment.getTime()) ? "Date(out of range)" : moment.toISOString();
}

// One value, as the shell writes it on one line. It can be typed back into a filter.
export function shell(value: Value | undefined): string {
  if (value === undefined) return "";
  const inside = value as any;
  switch (kind(value)) {
    case "null": return "null";
    case "bool": case "string": return JSON.stringify(value);
    case "int": return typeof value === "number" ? String(value) : inside.$numberInt;
    case "double": return typeof value === "number" ? String(value) : inside.$numberDouble;
    case "long": return `NumberLong("${inside.$numberLong}")`;
    case "decimal": return `NumberDecimal("${inside.$numberDecimal}")`;
    case "date": { const text = date(inside.$date); return text.startsWith("Date") ? text : `ISODate("${text}")`; }
    case "objectId": return `ObjectId("${inside.$oid}")`;
    case "timestamp": return `Timestamp(${inside.$timestamp.t}, ${inside.$timestamp.i})`;
    case "binary": {
      const { base64, subType } = inside.$binary;
      if (subType === "04" || subType === "4") return `UUID("${uuid(base64)}")`;
      return `BinData(${parseInt(subType, 16)}, "${base64}")`;
    }
    case "regex": return `/${inside.$regularExpression.pattern}/${inside.$regularExpression.options}`;
    case "minKey": return "MinKey()";
    case "maxKey": return "MaxKey()";
    case "undefined": return "undefined";
    case "array": return "[" + (value as Value[]).map(shell).join(", ") + "]";
    case "object": return "{" + Object.entries(value as Document).map(([name, one]) => `${nameText(name)}: ${shell(one)}`).join(", ") + "}";
    default: return JSON.stringify(value);
  }
}

const nameText = (name: string): string => (/^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name));

// "2f1b…" with dashes, of sixteen bytes in base64.
export function uuid(base64: string): string {
  const hex = [...atob(base64)].map(byte => byte.charCodeAt(0).toString(16).padStart(2, "0")).join("");
  return hex.length !== 32 ? hex : [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join("-");
}

// The number that a value is; NaN where it is none.
export function asNumber(value: Value | undefined): number {
  if (typeof value === "number") return value;
  if (value === undefined || value === null || typeof value !== "object" || Array.isArray(value)) return NaN;
  return Number(value.$numberInt ?? value.$numberLong ?? value.$numberDouble ?? value.$numberDecimal ?? NaN);
}

// The moment that a value is, in either form of Extended JSON.
export function asDate(value: Value | undefined): Date | undefined {
  if (value === null || typeof value !== "object" || Array.isArray(value) || value.$date === undefined) return undefined;
  return typeof value.$date === "string" ? new Date(value.$date) : new Date(asNumber(value.$date));
}
