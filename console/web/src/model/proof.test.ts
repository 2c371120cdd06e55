import { expect, test } from "vitest";
import { keyText } from "./key_text";
import { fromBase64, fromHex, hex, Invalid, verifyCommit } from "./proof";
import proofs from "./proofs.fixture.json";

// The server made these proofs, in trees of the three kinds; tools/verify_proof.py says what they prove.
test("proofs prove what the other verifiers say", async () => {
  for (const one of proofs) {
    const proven = await verifyCommit(one.commit, fromBase64(one.proof));
    expect(proven.collection).toBe(one.collection);
    expect(proven.hash ? hex(proven.hash) : null).toBe(one.hash);
    expect(proven.document?.length ?? null).toBe(one.documentBytes);
    if (!one.key.startsWith("key ")) expect(keyText(proven.key)).toBe(one.key);
  }
});

test("a proof is of one commit", async () => {
  await expect(verifyCommit("00".repeat(32), fromBase64(proofs[0]!.proof))).rejects.toThrow("it is of another commit");
  await expect(verifyCommit("00", fromBase64(proofs[0]!.proof))).rejects.toThrow(Invalid);
});

// A bit of the key makes it another key, and that this one isn't there is true as well.
test("a proof with one bit turned, one byte missing or one more doesn't hold, or proves that another _id isn't there", async () => {
  for (const one of proofs) {
    const whole = fromBase64(one.proof);
    await expect(verifyCommit(one.commit, whole.subarray(0, -1))).rejects.toThrow(Invalid);
    await expect(verifyCommit(one.commit, Uint8Array.from([...whole, 0]))).rejects.toThrow(Invalid);
    for (let at = 0; at < whole.length; at += 7) {
      const turned = whole.slice();
      turned[at]! ^= 1 << at % 8;
      const said = await verifyCommit(one.commit, turned).catch(error => error);
      if (said instanceof Invalid) continue;
      expect(said.hash).toBeUndefined();
      expect(keyText(said.key)).not.toBe(one.key);
    }
  }
});

test("keys are read as the _ids that they stand for", () => {
  expect(keyText(fromHex("79"))).toBe("true");
  expect(keyText(fromHex("5061010262" + "00"))).toBe('"a\\u0001b"');
  expect(keyText(fromHex("ff00"))).toBe("key ff00");
});
