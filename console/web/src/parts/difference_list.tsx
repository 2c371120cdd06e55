// This page lists the documents that two states show differently. It reads on as somebody scrolls.
import { useState } from "preact/hooks";
import { collections } from "../api/database";
import { Cursor } from "../api/session";
import { useListed, type Source } from "../api/use";
import { besidePipeline, changeOf, type Beside } from "../model/beside";
import { differences } from "../model/differences";
import { databaseAt } from "../model/states";
import { count } from "../model/text";
import { shell, type Document, type Value } from "../model/values";
import { Empty, Failure, Loading } from "./basics";
import { Changes } from "./changes";
import { cut, summary } from "./document";
import { VirtualList } from "./virtual_list";

export interface Differing {
  collection: string;
  _id: Value;
  change: "insert" | "update" | "delete";
  before?: Document;
  after?: Document;
}

export const changeNames = { insert: "added", update: "changed", delete: "removed" };
const signs = { insert: "+", update: "~", delete: "−" };

export function openDifferences(database: string, from: string | undefined, to: string | undefined, collection?: string, change?: string) {
  return Cursor.open<Differing>(
    database,
    { diff: 1, ...(from ? { from } : {}), ...(to ? { to } : {}), ...(collection ? { collection } : {}), ...(change ? { filter: { change } } : {}), cursor: { batchSize: 100 }, maxTimeMS: 120_000 },
    { canonical: true },
  );
}

// The same where one of the states is a snapshot.
export async function openBeside(db: string, from: string, to: string, collection: string, change: string): Promise<Source<Differing>> {
  const before = databaseAt(db, from), after = databaseAt(db, to);
  const known = collection ? [[{ name: collection, type: "collection" }]] : await Promise.all([collections(db, from), collections(db, to)]);
  const left = [...new Set(known.flat().filter(one => one.type === "collection" && !one.name.startsWith("system.")).map(one => one.name))].sort();
  let name = "";
  let cursor: Cursor<Beside<Document> & { _id: Value }> | undefined;
  const source = {
    first: [] as Differing[],
    get more() { return left.length > 0 || (cursor?.more ?? false); },
    async next(): Promise<Differing[]> {
      for (;;) {
        let batch;
        if (cursor?.more) {
          batch = await cursor.next();
        } else {
          const following = left.shift();
          if (following === undefined) return [];
          name = following;
          cursor = await Cursor.open(after, { aggregate: name, pipeline: besidePipeline(before, name, change), cursor: { batchSize: 100 }, maxTimeMS: 120_000 }, { canonical: true });
          batch = cursor.first;
        }
        const collection = name;
        if (batch.length > 0)
          return batch.map(one => ({ collection, _id: one._id, change: changeOf(one), ...(one.before ? { before: one.before } : {}), ...(one.after ? { after: one.after } : {}) }));
      }
    },
    close: () => cursor?.close(),
  };
  source.first = await source.next();
  return source;
}

export function DifferenceRow({ one, collection = true }: { one: Differing; collection?: boolean }) {
  return (
    <>
      <span class={`sign ${one.change}`} title={changeNames[one.change]}><span aria-hidden="true">{signs[one.change]}</span><span class="hidden">{changeNames[one.change]}</span></span>
      {collection && <span class="quiet">{one.collection}</span>}
      <span class="id">{cut(shell(one._id), 40)}</span>
      <span class="rest">{one.change === "update" ? changedPaths(one) : summary((one.after ?? one.before)!)}</span>
    </>
  );
}

const changedPaths = (one: Differing): string => differences(one.before, one.after).slice(0, 6).map(difference => difference.path).join(", ");

// A short form for the details of a commit: each document folds open.
export function CommitChanges({ db, from, to }: { db: string; from: string; to: string }) {
  const found = useListed(() => openDifferences(db, from, to), [db, from, to]);
  const [selected, select] = useState(-1);
  const one = found.items[selected];
  return (
    <section class="commit-changes" aria-label="What the commit changed">
      <h3>{found.done ? `${count(found.items.length)} documents differ from the first parent` : `${count(found.items.length)} documents read so far`}</h3>
      <Failure error={found.error} />
      {found.loading && found.items.length === 0 && <Loading />}
      {found.done && found.items.length === 0 && !found.error && <Empty>No document.</Empty>}
      {found.items.length > 0 && (
        <VirtualList label="Changed documents" count={found.items.length} rowHeight={26} selected={selected} select={select} onEnd={found.more} complete={found.done} class="short" render={row => <DifferenceRow one={found.items[row]!} />} />
      )}
      {one && <div class="boxed"><Changes key={selected} before={one.before} after={one.after} /></div>}
    </section>
  );
}
