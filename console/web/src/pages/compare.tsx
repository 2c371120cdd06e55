// Two states of a database beside each other: which documents differ, and in which fields.
import { useEffect, useState } from "preact/hooks";
import type { PageProps } from "../app";
import { collections, states } from "../api/database";
import { go, to as link } from "../api/route";
import { useAsked, useListed } from "../api/use";
import { databaseAt } from "../model/states";
import { count, plural } from "../model/text";
import { shell } from "../model/values";
import { Empty, Failure, Field, Loading } from "../parts/basics";
import { Changes } from "../parts/changes";
import { changeNames, DifferenceRow, type Differing, openBeside, openDifferences } from "../parts/difference_list";
import { Stashes } from "../parts/stashes";
import { StateSelect } from "../parts/states";
import { VirtualList } from "../parts/virtual_list";

export function Compare({ db, route }: PageProps) {
  const { from = "", to = "", coll = "", change = "", pending = "" } = route.params;
  const known = useAsked(() => states(db), [db]);
  const names = useAsked(() => collections(db, ""), [db]);
  const [turn, setTurn] = useState(0);
  const set = (next: Record<string, string>) => go("compare", { db, from, to, coll, change, pending, ...next });
  if (known.error) return <Failure error={known.error} />;
  if (!known.value) return <Loading />;
  const { branches } = known.value;
  if (branches.length === 0 && known.value.snapshots.length === 0) return <Empty>{db} has no branches or snapshots yet, and so no states to compare.</Empty>;
  const other = branches.find(one => one.name !== "main")?.name ?? known.value.snapshots[0]?.name ?? "main";
  const source = from || "main", target = to || (pending ? "main" : other);
  const snapshots = new Set(known.value.snapshots.map(one => one.name));
  const beside = !pending && (snapshots.has(source) || snapshots.has(target));
  return (
    <>
      <div class="toolbar">
        <Field label="Show"><select value={pending ? "pending" : "states"} onChange={event => set({ pending: event.currentTarget.value === "pending" ? "1" : "", from: "" })}>
          <option value="states">two states</option>
          <option value="pending">what isn't committed</option>
        </select></Field>
        {pending ? <StateSelect label="On" states={{ ...known.value, tags: [], snapshots: [] }} value={target} change={next => set({ to: next })} /> : (
          <>
            <StateSelect label="From" states={known.value} value={source} change={next => set({ from: next })} />
            <StateSelect label="To" states={known.value} value={target} change={next => set({ to: next })} />
            <button type="button" onClick={() => set({ from: target, to: source })}>Swap</button>
          </>
        )}
        <Field label="Collection">
          <select value={coll} onChange={event => set({ coll: event.currentTarget.value })}>
            <option value="">all</option>
            {(names.value ?? []).map(one => <option key={one.name} value={one.name}>{one.name}</option>)}
          </select>
        </Field>
        <Field label="Documents">
          <select value={change} onChange={event => set({ change: event.currentTarget.value })}>
            <option value="">all that differ</option>
            {Object.entries(changeNames).map(([name, said]) => <option key={name} value={name}>{said}</option>)}
          </select>
        </Field>
      </div>
      {pending && <Stashes db={db} branch={target} changed={() => setTurn(turn + 1)} />}
      <Differences key={turn} db={db} from={pending ? undefined : source} to={target} beside={beside} collection={coll} change={change} />
    </>
  );
}

function Differences({ db, from, to, beside, collection, change }: { db: string; from: string | undefined; to: string; beside: boolean; collection: string; change: string }) {
  // What isn't committed is asked of the branch itself, without naming states.
  const database = from === undefined ? databaseAt(db, to) : db;
  const open = () => (beside ? openBeside(db, from!, to, collection, change) : openDifferences(database, from, from === undefined ? undefined : to, collection, change));
  const found = useListed<Differing>(open, [database, from, to, beside, collection, change]);
  const [selected, select] = useState(-1);
  useEffect(() => select(-1), [database, from, to, collection, change]);
  const one = found.items[selected];
  return (
    <>
      <Failure error={found.error} />
      <div class="split tall">
        <div class="split-list">
          {found.items.length === 0 && !found.error && (found.loading ? <Loading /> : <Empty>Nothing differs.</Empty>)}
          {found.items.length > 0 && (
            <VirtualList label="Documents that differ" count={found.items.length} rowHeight={26} selected={selected} select={select} onEnd={found.more} complete={found.done} render={row => <DifferenceRow one={found.items[row]!} />} />
          )}
          <p class="status" role="status">{found.done ? `${plural(found.items.length, "document")}` : `${count(found.items.length)} read so far`}</p>
        </div>
        <aside class="split-detail" aria-label="The selected document">
          {one ? (
            <>
              <div class="detail-actions">
                <span class={`sign ${one.change}`}>{changeNames[one.change]}</span><span class="mono">{one.collection} {shell(one._id)}</span>
                <a class="button" href={link("versions", { db, coll: one.collection, id: shell(one._id) })}>Versions</a>
              </div>
              <Changes key={selected} before={one.before} after={one.after} />
            </>
          ) : <Empty>Select a document.</Empty>}
        </aside>
      </div>
    </>
  );
}
