// The _id that a key of a tree stands for, where the key says it; docs/formats/key-string.md. Else the key's own bytes.
import { hex } from "./proof";

const constants: Record<number, string> = { 0x20: "null", 0x30: "NaN", 0x31: "-Infinity", 0x3c: "0", 0x47: "Infinity", 0x78: "false", 0x79: "true" };

export function keyText(key: Uint8Array): string {
  const kind = key[0] ?? 0;
  const body = key.slice(1);
  if (kind in constants && body.length === 0) return constants[kind]!;
  if (kind === 0x70 && body.length === 12) return `ObjectId("${hex(body)}")`;
  if (kind === 0x80 && body.length === 8) return `ISODate("${new Date(Number(big(body) - 2n ** 63n)).toISOString()}")`;
  if (kind === 0x50 && body.at(-1) === 0) return JSON.stringify(new TextDecoder().decode(unescaped(body.subarray(0, -1))));
  return (kind >= 0x32 && kind <= 0x46 && numberText(kind, body)) || `key ${hex(key)}`;
}

function numberText(kind: number, body: Uint8Array): string | undefined {
  const negative = kind < 0x3c, distance = Math.abs(kind - 0x3c);
  if (negative) body = body.map(byte => 255 - byte);
  let whole = 0n;
  if (distance >= 2 && distance <= 9) {
    whole = big(body.subarray(0, distance - 1));
    body = body.subarray(distance - 1);
  }
  if (distance === 1 || distance === 10 || (whole & 1n) === 1n) {
    if (body.length !== 8 || (body[7]! & 1) !== 0) return undefined;
    const view = new DataView(new ArrayBuffer(8));
    view.setBigUint64(0, big(body) >> 1n);
    return String(view.getFloat64(0) * (negative ? -1 : 1));
  }
  return body.length === 0 ? `${negative ? "-" : ""}${whole >> 1n}` : undefined;
}

const big = (bytes: Uint8Array): bigint => bytes.reduce((sum, byte) => (sum << 8n) | BigInt(byte), 0n);

// 01 01 is the byte 00, and 01 02 the byte 01.
function unescaped(text: Uint8Array): Uint8Array {
  const out: number[] = [];
  for (let i = 0; i < text.length; i++) {
    if (text[i] === 1 && (text[i + 1] === 1 || text[i + 1] === 2)) out.push(text[++i]! - 1);
    else out.push(text[i]!);
  }
  return Uint8Array.from(out);
}
