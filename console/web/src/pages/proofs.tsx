// Fetches a proof that a document was in a commit, or that there was none, and checks it here, without believing the server.
import { useState } from "preact/hooks";
import type { PageProps } from "../app";
import { collections, states } from "../api/database";
import { command } from "../api/session";
import { useAsked } from "../api/use";
import { keyText } from "../model/key_text";
import { fromBase64, hex, verifyCommit, type Proven } from "../model/proof";
import { databaseAt } from "../model/states";
import { moment, short } from "../model/text";
import { uuid } from "../model/values";
import { Facts, Failure, Field, Panel } from "../parts/basics";
import { StateSelect } from "../parts/states";

interface Checked {
  name: string;  // of the file that the proof is, or becomes
  proof: Uint8Array;
  commit: string;
  proven?: Proven;
  error?: Error;
}

async function check(name: string, proof: Uint8Array, commit: string): Promise<Checked> {
  return verifyCommit(commit.trim(), proof).then(proven => ({ name, proof, commit, proven }), error => ({ name, proof, commit, error }));
}

export function Proofs({ db, route }: PageProps) {
  const known = useAsked(() => states(db), [db]);
  const names = useAsked(() => collections(db, ""), [db]);
  const [asked, setAsked] = useState({ state: route.params.state ?? "", coll: route.params.coll ?? "", id: route.params.id ?? "" });
  const [trusted, setTrusted] = useState("");
  const [result, setResult] = useState<{ checked?: Checked; error?: Error; busy: boolean }>({ busy: false });
  const collection = asked.coll || names.value?.[0]?.name || "";
  const state = asked.state || (known.value?.branches.length ? "main" : "");

  const fetchProof = async () => {
    setResult({ busy: true });
    try {
      const reply = await command(databaseAt(db, state), { getProof: 1, coll: collection }, { texts: { _id: asked.id } });
      const name = `${collection}-${asked.id.replace(/[^\w-]+/g, "_")}.proof`;
      setResult({ busy: false, checked: await check(name, fromBase64(reply.proof.$binary.base64), trusted || reply.commit) });
    } catch (error) {
      setResult({ busy: false, error: error as Error });
    }
  };
  const openFile = async (file: File | undefined) => {
    if (file) setResult({ busy: false, checked: await check(file.name, new Uint8Array(await file.arrayBuffer()), trusted) });
  };
  return (
    <>
      <div class="columns wide">
        <Panel title="Ask the server for a proof">
          <form class="inset" onSubmit={event => { event.preventDefault(); void fetchProof(); }}>
            <div class="toolbar">
              <StateSelect label="Of" states={known.value} snapshots={false} value={state} change={next => setAsked({ ...asked, state: next })} />
              <Field label="Collection">
                <select value={collection} onChange={event => setAsked({ ...asked, coll: event.currentTarget.value })}>{(names.value ?? []).map(one => <option key={one.name} value={one.name}>{one.name}</option>)}</select>
              </Field>
            </div>
            <Field label="_id"><input class="mono" spellcheck={false} required value={asked.id} placeholder={'7, "name", ObjectId("…")'} onInput={event => setAsked({ ...asked, id: event.currentTarget.value })} /></Field>
            <div class="toolbar"><button type="submit" class="primary" disabled={result.busy}>{result.busy ? "…" : "Get the proof and check it"}</button></div>
          </form>
        </Panel>
        <Panel title="What you trust">
          <div class="inset">
            <p class="quiet">A proof says something about one commit. It is worth as much as the commit's id, which has to come from somebody you trust. Left empty, the id that the server names is taken: then the check shows only that the server agrees with itself.</p>
            <Field label="Commit"><input class="mono" spellcheck={false} value={trusted} placeholder="64 hexadecimal digits" onInput={event => setTrusted(event.currentTarget.value)} /></Field>
            <Field label="Check a file"><input type="file" onChange={event => void openFile(event.currentTarget.files?.[0])} /></Field>
          </div>
        </Panel>
      </div>
      <Failure error={result.error} />
      {result.checked && <Outcome db={db} checked={result.checked} asked={asked.id} trusted={trusted !== ""} />}
    </>
  );
}

function Outcome({ db, checked, asked, trusted }: { db: string; checked: Checked; asked: string; trusted: boolean }) {
  const { proven, error, proof } = checked;
  // The collection's name is the server's word: the proof knows the UUID alone.
  const names = useAsked(() => collections(db, ""), [db]);
  if (error || !proven) return <p class="failure" role="alert">The proof does not hold: {error?.message}.</p>;
  const name = names.value?.find(one => one.uuid && uuid(one.uuid).replace(/-/g, "") === proven.collection)?.name;
  return (
    <Panel title="What the proof says" actions={
      <>
        <button type="button" onClick={() => download(checked.name, proof)}>Download the proof</button>
        {proven.document && <button type="button" onClick={() => download(checked.name.replace(/\.proof$/, "") + ".bson", proven.document!)}>Download the document</button>}
      </>
    }>
      <div class="inset">
        <p class="good" role="status">{proven.hash ? "The document was in the commit" : "No document with this _id was in the commit"}{trusted ? "." : ", if the commit's id is right."}</p>
        <Facts facts={[
          ["_id", <span class="mono">{keyText(proven.key)}</span>], ["Asked for", asked && <span class="mono">{asked}</span>], ["Collection", <span class="mono">{proven.collection}</span>],
          ["Which the server calls", name ?? "no collection of this database"], ["SHA-256 of the document", proven.hash && <span class="mono">{hex(proven.hash)}</span>],
          ["Document", proven.document ? `${proven.document.length} bytes, with this hash` : proven.hash ? "not in the proof: it was erased since" : undefined],
          ["Commit", <span class="mono">{checked.commit}</span>], ["Committed", moment(proven.time, true)], ["Parents", proven.parents.map(short).join(" ")], ["Length of the proof", `${proof.length} bytes`],
        ]} />
      </div>
    </Panel>
  );
}

function download(name: string, content: Uint8Array): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([content as BlobPart], { type: "application/octet-stream" }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
