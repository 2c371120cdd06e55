// This page shows what a database has, as a branch, tag, commit or snapshot shows it, and the documents of one collection.
import { useState } from "preact/hooks";
import type { PageProps } from "../app";
import { collections, states } from "../api/database";
import { go, to } from "../api/route";
import { all, command } from "../api/session";
import { useAsked } from "../api/use";
import { databaseAt } from "../model/states";
import { bytes, count, ratio } from "../model/text";
import { Empty, Facts, Failure, Loading, Panel } from "../parts/basics";
import { Documents } from "../parts/documents";
import { StateSelect } from "../parts/states";

export function Collections({ db, route }: PageProps) {
  const state = route.params.state ?? "", collection = route.params.coll;
  const known = useAsked(() => states(db), [db]);
  const shown = state || "main";
  return (
    <>
      <div class="toolbar">
        <StateSelect label="As of" states={known.value} value={known.value?.branches.length ? shown : state} none={known.value?.branches.length ? undefined : "now"}
          change={next => go("collections", { db, coll: collection, state: next === "main" ? "" : next })} />
        {collection && <a class="button" href={to("collections", { db, state })}>All collections</a>}
      </div>
      {collection ? <OneCollection key={collection} db={db} state={state} name={collection} /> : <AllCollections db={db} state={state} />}
    </>
  );
}

interface Line {
  name: string;
  type: string;
  stats?: any;
  error?: Error;
}

function AllCollections({ db, state }: { db: string; state: string }) {
  const name = databaseAt(db, state);
  const lines = useAsked(async (): Promise<Line[]> => {
    const found = await collections(db, state);
    return Promise.all(
      found.map(async one => {
        if (one.type === "view") return { name: one.name, type: one.type };
        return command(name, { collStats: one.name }).then(stats => ({ name: one.name, type: one.type, stats }), error => ({ name: one.name, type: one.type, error }));
      }),
    );
  }, [name]);
  if (lines.error) return <Failure error={lines.error} />;
  if (!lines.value) return <Loading />;
  if (lines.value.length === 0) return <Empty>There are no collections in {name}.</Empty>;
  return (
    <Panel title={`Collections of ${name}`}>
      <table class="hover">
        <thead>
          <tr>
            <th scope="col">Name</th><th scope="col">Type</th><th scope="col" class="number">Documents</th><th scope="col" class="number">Mean size</th><th scope="col" class="number">Data</th>
            <th scope="col" class="number">In files</th><th scope="col" class="number">Indexes</th><th scope="col" class="number">Index size</th><th scope="col" class="number">Dedup</th>
          </tr>
        </thead>
        <tbody>
          {lines.value.map(({ name: collection, type, stats, error }) => (
            <tr key={collection}>
              <td><a href={to("collections", { db, state, coll: collection })}>{collection}</a></td>
              <td class="quiet">{stats?.capped ? "capped" : type}</td>
              {error ? <td colSpan={7} class="quiet">{error.message}</td> : (
                <>
                  <td class="number">{count(stats?.count)}</td><td class="number">{bytes(stats?.avgObjSize)}</td><td class="number">{bytes(stats?.size)}</td><td class="number">{bytes(stats?.storageSize)}</td>
                  <td class="number">{count(stats?.nindexes)}</td><td class="number">{bytes(stats?.totalIndexSize)}</td><td class="number">{ratio(stats?.dedup?.logicalBytes, stats?.dedup?.storedBytes)}</td>
                </>
              )}
            </tr>
          ))}
        </tbody>
      </table>
    </Panel>
  );
}

function OneCollection({ db, state, name }: { db: string; state: string; name: string }) {
  const [tab, setTab] = useState<"documents" | "indexes">("documents");
  const database = databaseAt(db, state);
  const stats = useAsked(() => command(database, { collStats: name }), [database, name]);
  const indexes = useAsked(() => all(database, { listIndexes: name, cursor: {} }), [database, name]);
  const { value } = stats;
  return (
    <>
      <div class="summary-line">
        <h2>{name}</h2>
        {value && <Facts facts={[
          ["Documents", count(value.count)], ["Mean size", bytes(value.avgObjSize)], ["Data", bytes(value.size)], ["In files", bytes(value.storageSize)], ["Indexes", `${count(value.nindexes)}, ${bytes(value.totalIndexSize)}`],
          ["Dedup", ratio(value.dedup?.logicalBytes, value.dedup?.storedBytes)], ["Kept as deltas", value.dedup && count(value.dedup.deltas)],
        ]} />}
      </div>
      <div class="tabs" role="group" aria-label="Parts of the collection">
        <button type="button" aria-pressed={tab === "documents"} onClick={() => setTab("documents")}>Documents</button>
        <button type="button" aria-pressed={tab === "indexes"} onClick={() => setTab("indexes")}>Indexes</button>
      </div>
      {tab === "documents" ? <Documents db={db} state={state} collection={name} /> : (
        <Panel title="Indexes">
          <Failure error={indexes.error} />
          <table>
            <thead><tr><th scope="col">Name</th><th scope="col">Key</th><th scope="col">Options</th><th scope="col" class="number">Size</th><th scope="col" class="number">Uses</th></tr></thead>
            <tbody>
              {(indexes.value ?? []).map((one: any) => {
                const { v: _, key, name: index, ...options } = one;
                return (
                  <tr key={index}>
                    <td>{index}</td><td class="mono">{JSON.stringify(key)}</td><td class="mono quiet">{Object.keys(options).length ? JSON.stringify(options) : ""}</td>
                    <td class="number">{bytes(value?.indexSizes?.[index])}</td><td class="number">{count(value?.indexDetails?.[index]?.accesses)}</td>
                  </tr>
                );
              })}
            </tbody>
          </table>
        </Panel>
      )}
    </>
  );
}
