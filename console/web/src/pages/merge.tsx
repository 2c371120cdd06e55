// Merges a branch, tag or commit into a branch. Conflicts are decided one by one, field by field, by clicking.
import { useEffect, useState } from "preact/hooks";
import type { PageProps } from "../app";
import { states, type States } from "../api/database";
import { go, to as link } from "../api/route";
import { command, Cursor } from "../api/session";
import { useAsked, useListed } from "../api/use";
import { at, compose, type Side } from "../model/conflicts";
import { databaseAt } from "../model/states";
import { count, plural, short } from "../model/text";
import { same, shell, type Document, type Value } from "../model/values";
import { Empty, Failure, Field, Loading, Panel, ReadOnlyNote, WriteButton } from "../parts/basics";
import { DocumentTree, ValueText } from "../parts/document";
import { StateSelect } from "../parts/states";
import { VirtualList } from "../parts/virtual_list";

export function Merge({ db, route }: PageProps) {
  const known = useAsked(() => states(db), [db]);
  if (known.error) return <Failure error={known.error} />;
  if (!known.value) return <Loading />;
  const { branches } = known.value;
  if (branches.length === 0) return <Empty>{db} has no branches yet, and so nothing to merge.</Empty>;
  const into = route.params.into || "main";
  const from = route.params.from || branches.find(one => one.name !== into)?.name || into;
  return (
    <>
      <ReadOnlyNote />
      <div class="toolbar">
        <StateSelect label="Into" states={{ ...known.value, tags: [], snapshots: [] }} value={into} change={next => go("merge", { db, into: next, from })} />
        <StateSelect label="Merge" states={known.value} snapshots={false} value={from} change={next => go("merge", { db, into, from: next })} />
        <a class="button" href={link("compare", { db, from: into, to: from })}>Compare them</a>
      </div>
      <OneMerge key={`${into} ${from}`} db={db} into={into} from={from} states={known.value} changed={known.again} />
    </>
  );
}

function OneMerge({ db, into, from, changed }: { db: string; into: string; from: string; states: States; changed: () => void }) {
  const database = databaseAt(db, into);
  const status = useAsked(() => command(database, { status: 1 }), [database]);
  const [finished, finish] = useState<string>();
  if (status.error) return <Failure error={status.error} />;
  if (!status.value) return <Loading />;
  const { merging, clean } = status.value;
  const done = (said: string) => {
    finish(said);
    status.again();
    changed();
  };
  return (
    <>
      {finished && <p class="good" role="status">{finished}</p>}
      {!clean && <p class="note">{into} has changes that aren't committed. <a href={link("compare", { db, to: into, pending: "1" })}>Look at them.</a> A merge counts what is committed, so commit them first.
        <Commit database={database} done={status.again} /></p>}
      {merging ? <Waiting database={database} into={into} merging={merging} done={done} /> : clean && <Try database={database} into={into} from={from} begun={() => { finish(undefined); status.again(); }} done={done} />}
    </>
  );
}

function Commit({ database, done }: { database: string; done: () => void }) {
  const [message, setMessage] = useState("");
  return (
    <span class="toolbar">
      <Field label="Message"><input value={message} onInput={event => setMessage(event.currentTarget.value)} /></Field>
      <WriteButton run={() => command(database, { commit: 1, ...(message ? { message } : {}) })} done={done}>Commit</WriteButton>
    </span>
  );
}

const modes: Record<string, string> = {
  fieldTouched: "fields that both changed",
  fieldDivergent: "fields that both changed to something else",
  documentTouched: "documents that both changed",
  documentDivergent: "documents that both changed to something else",
};

// Try shows what a merge would meet, and merges.
function Try({ database, into, from, begun, done }: { database: string; into: string; from: string; begun: () => void; done: (said: string) => void }) {
  const [mode, setMode] = useState("fieldTouched");
  const [message, setMessage] = useState("");
  const tried = useAsked(() => command(database, { merge: from, mode, dryRun: true }), [database, from, mode]);
  const reply = tried.value;
  const conflicts: any[] = reply?.conflicts ?? [];
  const total = reply?.conflictCount ?? 0;
  const more = message ? { message } : {};
  const merge = async (resolve: string) => {
    const merged = await command(database, { merge: from, mode, resolve, ...more });
    // Between the trial and this somebody may have committed: what the server says counts.
    if (merged.merging) begun();
    else done(merged.changed ? `Merged ${from} into ${into}, at ${short(merged.commit)}.` : `There was nothing to merge from ${from}.`);
  };
  return (
    <Panel title={`${from} into ${into}`} actions={<Field label="Conflicts are"><select value={mode} onChange={event => setMode(event.currentTarget.value)}>{Object.entries(modes).map(([name, said]) => <option key={name} value={name}>{said}</option>)}</select></Field>}>
      <div class="inset">
        <Failure error={tried.error} />
        {tried.loading && !reply && <Loading />}
        {reply && (
          <>
            <p role="status">{total > 0 ? `${plural(total, "conflict")}; ${plural(reply.touchedByBoth ?? total, "document")} changed on both sides.` : reply.changed === false ? `${into} has everything that ${from} has.` : "No conflicts."}</p>
            {conflicts.length > 0 && (
              <table>
                <thead><tr><th scope="col">Collection</th><th scope="col">_id</th><th scope="col">Conflict</th></tr></thead>
                <tbody>{conflicts.slice(0, 100).map((one, row) => <tr key={row}><td>{one.collection}</td><td class="mono">{shell(one._id)}</td><td class="mono">{reason(one)}</td></tr>)}</tbody>
              </table>
            )}
            {(total > 0 || reply.changed !== false) && (
              <>
                <Field label="Message"><input value={message} placeholder={`merge ${from}`} onInput={event => setMessage(event.currentTarget.value)} /></Field>
                <div class="toolbar">
                  {total === 0 && <WriteButton main run={() => merge("fail")}>Merge</WriteButton>}
                  {total > 0 && <WriteButton main run={() => merge("manual")}>Begin, and decide the conflicts</WriteButton>}
                  {total > 0 && <WriteButton confirm={`${into} wins all conflicts?`} run={() => merge("ours")}>{into} wins all</WriteButton>}
                  {total > 0 && <WriteButton confirm={`${from} wins all conflicts?`} run={() => merge("theirs")}>{from} wins all</WriteButton>}
                </div>
              </>
            )}
          </>
        )}
      </div>
    </Panel>
  );
}

function reason(one: any): string {
  if (one.index !== undefined) return `the key ${shell(one.key)} of index ${one.index} is also ${shell(one.other)}'s`;
  return one.paths?.length ? one.paths.join(", ") : "the whole document";
}

interface Conflict {
  collection: string;
  _id: Value;
  paths?: string[];
  base?: Document | null;
  ours?: Document | null;
  theirs?: Document | null;
  resolved?: string;
  index?: string;
  key?: Value;
  other?: Value;
  tooLarge?: boolean;
}

// A merge that waits until its conflicts are decided.
function Waiting({ database, into, merging, done }: { database: string; into: string; merging: any; done: (said: string) => void }) {
  const found = useListed(() => Cursor.open<Conflict>(database, { listConflicts: 1, cursor: { batchSize: 100 } }, { canonical: true }), [database, merging]);
  const [selected, select] = useState(0);
  const [message, setMessage] = useState("");
  const open = found.items.filter(one => one.resolved === undefined).length;
  const one = found.items[selected] ?? found.items[0];
  const names = { ours: into, theirs: merging.from };
  return (
    <>
      <Failure error={found.error} />
      <div class="toolbar">
        <strong>The {merging.kind} of {merging.from} waits</strong>
        <span role="status">{found.done ? (open > 0 ? `${plural(open, "conflict")} to decide` : "All conflicts are decided.") : "Reading the conflicts…"}</span>
        <Field label="Message"><input value={message} onInput={event => setMessage(event.currentTarget.value)} /></Field>
        <WriteButton main run={async () => {
          const merged = await command(database, { continueMerge: 1, ...(message ? { message } : {}) });
          done(merged.changed ? `Merged, at ${short(merged.commit)}.` : "There was nothing to merge.");
        }}>Finish the merge</WriteButton>
        <WriteButton danger confirm="Forget the merge and all decisions?" run={() => command(database, { abortMerge: 1 })} done={() => done("The merge is forgotten; nothing was changed.")}>Abort</WriteButton>
      </div>
      <div class="split narrow-list">
        <div class="split-list">
          {found.items.length === 0 ? (found.loading ? <Loading /> : <Empty>There are no conflicts any more.</Empty>) : (
            <VirtualList label="Conflicts" count={found.items.length} rowHeight={30} selected={found.items.indexOf(one!)} select={select} onEnd={found.more} complete={found.done}
              render={row => {
                const conflict = found.items[row]!;
                return (
                  <>
                    <span class={`badge ${conflict.resolved ? "good" : "bad"}`}>{conflict.resolved ?? "open"}</span><span class="quiet">{conflict.collection}</span><span class="id">{shell(conflict._id)}</span>
                    <span class="rest">{reason(conflict)}</span>
                  </>
                );
              }} />
          )}
          <p class="status">{count(found.items.length)} documents</p>
        </div>
        <section class="split-detail" aria-label="The selected conflict">
          {one ? <Decide key={`${one.collection} ${shell(one._id)} ${one.resolved}`} database={database} conflict={one} names={names} decided={found.again} /> : <Empty>Nothing is to be decided.</Empty>}
        </section>
      </div>
    </>
  );
}

const sides: Side[] = ["base", "ours", "theirs"];

function Decide({ database, conflict, names, decided }: { database: string; conflict: Conflict; names: { ours: string; theirs: string }; decided: () => void }) {
  const [choices, setChoices] = useState<Map<string, Side>>(new Map());
  useEffect(() => setChoices(new Map()), [conflict]);
  const titles: Record<Side, string> = { base: "Before both", ours: `Ours (${names.ours})`, theirs: `Theirs (${names.theirs})` };
  const id = { collection: conflict.collection, _id: conflict._id };
  const take = (side: Side) => command(database, { resolveConflict: 1, ...id, take: side });
  const { base, ours, theirs } = conflict;
  const paths = ours && theirs ? (conflict.paths?.length ? conflict.paths : []) : [];
  const complete = paths.length > 0 && paths.every(path => choices.has(path));
  const composed = ours && theirs && paths.length > 0 ? compose(base ?? undefined, ours, theirs, choices) : undefined;
  return (
    <>
      <div class="detail-actions"><h2 class="mono">{conflict.collection} {shell(conflict._id)}</h2>{conflict.resolved && <span class="badge good">decided: {conflict.resolved}</span>}</div>
      {conflict.index !== undefined && <p class="note">{reason(conflict)}. Decide one of the two documents so that the keys differ.</p>}
      {conflict.tooLarge && <p class="note">The documents are too large to be shown side by side; a whole side can still be taken.</p>}
      {paths.length > 0 && (
        <fieldset class="choices">
          <legend>Which side counts, for each field that both changed</legend>
          {paths.map(path => (
            <div key={path} class="choice" role="radiogroup" aria-label={path}>
              <h3 class="mono">{path}</h3>
              <div class="options">
                {sides.map(side => {
                  const value = at((conflict[side] ?? undefined) as Value | undefined, path);
                  return (
                    <label key={side} class={choices.get(path) === side ? "option chosen" : "option"}>
                      <span><input type="radio" name={path} checked={choices.get(path) === side} onChange={() => setChoices(new Map(choices).set(path, side))} />{titles[side]}</span>
                      {value === undefined ? <span class="quiet">no such field</span> : <ValueText value={value} max={240} />}
                    </label>
                  );
                })}
              </div>
            </div>
          ))}
          <WriteButton main run={() => (complete ? command(database, { resolveConflict: 1, ...id, document: composed }) : Promise.reject(new Error("Choose a side for each field first.")))} done={decided}>Take these fields</WriteButton>
        </fieldset>
      )}
      <div class="detail-actions">
        <span class="quiet">Or one side's whole document:</span>
        {sides.map(side => <WriteButton key={side} run={() => take(side)} done={decided}>{side === "base" ? "As before both" : `Take ${side}`}</WriteButton>)}
      </div>
      <div class="sides">
        {sides.map(side => {
          const document = conflict[side];
          return (
            <section key={side} aria-label={titles[side]}>
              <h3>{titles[side]}</h3>
              {document ? <DocumentTree document={document} open={0} /> : <p class="quiet">{conflict.tooLarge ? "not shown" : "not there"}</p>}
            </section>
          );
        })}
        {complete && composed && <section aria-label="With these fields"><h3>With these fields{same(composed, ours as Document) ? " (as ours)" : ""}</h3><DocumentTree document={composed} open={0} /></section>}
      </div>
    </>
  );
}
