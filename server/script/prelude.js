// These names are there for functions that clients send. A class of a BSON type has its tag in `__bsonType` of the prototype, and what it
// holds in `__value`; server/script/values.cpp reads and makes them.
"use strict";
(function (global) {
  const hide = (object, name, value) => Object.defineProperty(object, name, { value, writable: true, configurable: true, enumerable: false });
  const define = (name, value) => hide(global, name, value);
  const hex = /^[0-9a-fA-F]*$/;

  // Makes a class of a BSON type that can be called with and without `new`.
  const type = (tag, name, value, methods) => {
    const make = function (...args) {
      const object = Object.create(make.prototype);
      hide(object, "__value", value(...args));
      return object;
    };
    hide(make, "name", name);
    hide(make.prototype, "__bsonType", tag);
    for (const [method, body] of Object.entries(methods)) hide(make.prototype, method, body);
    hide(make.prototype, "tojson", function () { return this.toString(); });
    define(name, make);
    return make;
  };
  const whole = (name, bits) => (given) => {
    if (given === undefined) return 0n;
    if (typeof given === "bigint") return BigInt.asIntN(bits, given);
    if (typeof given === "string") {
      if (!/^[+-]?\d+$/.test(given)) throw new Error("could not convert \"" + given + "\" to " + name);
      const number = BigInt(given);
      if (number !== BigInt.asIntN(bits, number)) throw new Error("\"" + given + "\" is out of range of " + name);
      return number;
    }
    const number = Number(given);
    if (Number.isNaN(number)) return 0n;
    const limit = 2 ** (bits - 1);
    if (number >= limit) return 2n ** BigInt(bits - 1) - 1n;
    if (number < -limit) return -(2n ** BigInt(bits - 1));
    return BigInt(Math.trunc(number));
  };
  const safe = (value) => value >= BigInt(Number.MIN_SAFE_INTEGER) && value <= BigInt(Number.MAX_SAFE_INTEGER);

  type("ObjectId", "ObjectId", (given) => {
    if (given === undefined) return __newObjectId();
    if (typeof given !== "string" || given.length !== 24 || !hex.test(given)) throw new Error("invalid object id: length or characters");
    return given.toLowerCase();
  }, {
    toString() { return "ObjectId(\"" + this.__value + "\")"; },
    toHexString() { return this.__value; },
    valueOf() { return this.__value; },
    getTimestamp() { return new Date(parseInt(this.__value.slice(0, 8), 16) * 1000); },
    equals(other) { return other instanceof ObjectId && other.__value === this.__value; },
  });
  Object.defineProperty(ObjectId.prototype, "str", { get() { return this.__value; }, configurable: true });
  define("ObjectID", ObjectId);

  type("Long", "NumberLong", whole("NumberLong", 64), {
    valueOf() { return Number(this.__value); },
    toNumber() { return Number(this.__value); },
    toString() { return safe(this.__value) ? "NumberLong(" + this.__value + ")" : "NumberLong(\"" + this.__value + "\")"; },
    compare(other) { return this.__value < other.__value ? -1 : this.__value > other.__value ? 1 : 0; },
  });
  type("Int32", "NumberInt", (given) => Number(whole("NumberInt", 32)(given)), {
    valueOf() { return this.__value; },
    toNumber() { return this.__value; },
    toString() { return "NumberInt(" + this.__value + ")"; },
  });
  type("Decimal128", "NumberDecimal", (given) => __decimalText(given === undefined ? "0" : String(given)), {
    toString() { return "NumberDecimal(\"" + this.__value + "\")"; },
  });
  type("Timestamp", "Timestamp", (t = 0, i = 0) => {
    for (const part of [t, i]) {
      if (!(Number(part) >= 0 && Number(part) <= 0xffffffff)) throw new Error("Timestamp: the parts must be between 0 and 4294967295");
    }
    return [Number(t) >>> 0, Number(i) >>> 0];
  }, {
    toString() { return "Timestamp(" + this.__value[0] + ", " + this.__value[1] + ")"; },
    getTime() { return this.__value[0]; },
    getInc() { return this.__value[1]; },
  });
  Object.defineProperty(Timestamp.prototype, "t", { get() { return this.__value[0]; }, configurable: true });
  Object.defineProperty(Timestamp.prototype, "i", { get() { return this.__value[1]; }, configurable: true });

  const bytes = (subtype, digits) => {
    if (!(subtype >= 0 && subtype <= 255)) throw new Error("invalid BinData subtype -- range is [0..255]");
    if (typeof digits !== "string" || digits.length % 2 !== 0 || !hex.test(digits)) throw new Error("invalid hex digits");
    return [subtype, digits.toLowerCase()];
  };
  const binary = type("Binary", "HexData", bytes, {
    subtype() { return this.__value[0]; },
    length() { return this.__value[1].length / 2; },
    hex() { return this.__value[1]; },
    base64() { return __base64(this.__value[1]); },
    toString() {
      const [subtype, digits] = this.__value;
      if (subtype === 4 && digits.length === 32) {
        return "UUID(\"" + [digits.slice(0, 8), digits.slice(8, 12), digits.slice(12, 16), digits.slice(16, 20), digits.slice(20)].join("-") + "\")";
      }
      return "BinData(" + subtype + ",\"" + this.base64() + "\")";
    },
  });
  define("BinData", function BinData(subtype, text) { return binary(subtype, __unbase64(text)); });
  BinData.prototype = binary.prototype;
  define("UUID", function UUID(text) {
    const digits = String(text).replace(/-/g, "");
    if (digits.length !== 32) throw new Error("UUID string must have 32 hex digits");
    return binary(4, digits);
  });
  UUID.prototype = binary.prototype;
  define("MD5", function MD5(digits) { return binary(5, digits); });

  type("MinKey", "MinKey", () => null, { toString() { return "MinKey"; } });
  type("MaxKey", "MaxKey", () => null, { toString() { return "MaxKey"; } });
  type("Code", "Code", (code, scope) => [String(code), scope], {
    toString() { return "Code(" + JSON.stringify(this.__value[0]) + ")"; },
  });
  Object.defineProperty(Code.prototype, "code", { get() { return this.__value[0]; }, configurable: true });
  Object.defineProperty(Code.prototype, "scope", { get() { return this.__value[1]; }, configurable: true });
  define("DBRef", function DBRef(ref, id, db) { return db === undefined ? { $ref: ref, $id: id } : { $ref: ref, $id: id, $db: db }; });
  define("ISODate", function ISODate(text) {
    if (text === undefined) return new Date();
    const date = new Date(/^\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?)?$/.test(text) && text.length > 10 ? text.replace(" ", "T") + "Z" : text);
    if (Number.isNaN(date.getTime())) throw new Error("invalid ISO date: " + text);
    return date;
  });
  define("version", () => __version);
  define("hex_md5", (text) => __md5(String(text)));
  define("sleep", (ms) => __sleep(Number(ms)));
  define("gc", () => undefined);

  define("isString", (value) => typeof value === "string");
  define("isNumber", (value) => typeof value === "number");
  define("isObject", (value) => typeof value === "object" && value !== null);
  define("doassert", (message) => { throw new Error(typeof message === "function" ? message() : message); });
  define("assert", (holds, message) => { if (!holds) throw new Error("assert failed" + (message === undefined ? "" : " : " + message)); });

  const text = (value, indent, step) => {
    const inner = step === null ? "" : indent + step;
    const line = step === null ? " " : "\n";
    switch (typeof value) {
      case "undefined": return "undefined";
      case "string": return JSON.stringify(value);
      case "number": case "boolean": return String(value);
      case "bigint": return "NumberLong(\"" + value + "\")";
      case "function": return value.toString();
      case "symbol": return value.toString();
    }
    if (value === null) return "null";
    if (value.__bsonType !== undefined) return value.toString();
    if (value instanceof Date) return Number.isNaN(value.getTime()) ? "new Date(NaN)" : "ISODate(\"" + value.toISOString().replace(/\.000Z$/, "Z") + "\")";
    if (value instanceof RegExp) return value.toString();
    if (Array.isArray(value)) {
      if (value.length === 0) return "[ ]";
      return "[" + line + value.map((one) => inner + text(one, inner, step)).join("," + line) + line + (step === null ? "" : indent) + "]";
    }
    const fields = Object.keys(value).map((key) => inner + JSON.stringify(key) + " : " + text(value[key], inner, step));
    if (fields.length === 0) return "{ }";
    return "{" + line + fields.join("," + line) + line + (step === null ? "" : indent) + "}";
  };
  define("tojson", (value, indent = "", nolint = false) => text(value, indent, nolint ? null : "\t"));
  define("tojsononeline", (value) => text(value, "", null));
  define("tojsonObject", (value, indent = "", nolint = false) => text(value, indent, nolint ? null : "\t"));
  define("print", (...values) => __print(values.map((value) => String(value)).join(" ")));
  define("printjson", (value) => __print(tojson(value)));
  define("printjsononeline", (value) => __print(tojsononeline(value)));

  hide(Array, "sum", (values) => {
    if (values.length === 0) return null;
    let sum = Number(values[0]);
    for (let at = 1; at < values.length; at++) sum += Number(values[at]);
    return sum;
  });
  hide(Array, "avg", (values) => (values.length === 0 ? null : Array.sum(values) / values.length));
  hide(Array, "stdDev", (values) => {
    const average = Array.avg(values);
    let sum = 0;
    for (const value of values) sum += (value - average) ** 2;
    return Math.sqrt(sum / values.length);
  });
  hide(Array, "contains", (values, wanted) => values.some((value) => value === wanted));
  hide(Array, "unique", (values) => values.filter((value, at) => values.indexOf(value) === at));
  hide(Object, "keySet", (object) => Object.keys(object));

  // Makes a function of what a client sent: a function, an expression, or the body of a function.
  define("__compile", (source) => {
    source = source.trim();
    if (/^\(*\s*(async\s+)?(function\b|\(?[\w$\s,={}\[\].]*\)?\s*=>)/.test(source)) {
      const made = (0, eval)("(" + source.replace(/;$/, "") + "\n)");
      if (typeof made === "function") return made;
    }
    try {
      return new Function("return (" + source.replace(/;$/, "") + "\n);");
    } catch (error) {
      if (!(error instanceof SyntaxError)) throw error;
      return new Function(source);
    }
  });
})(globalThis);
