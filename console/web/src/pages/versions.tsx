// The versions of one document, on whatever branch, and how the server keeps them.
import { useState } from "preact/hooks";
import type { PageProps } from "../app";
import { collections } from "../api/database";
import { go, to } from "../api/route";
import { command, Cursor } from "../api/session";
import { useAsked, useListed } from "../api/use";
import { databaseAt } from "../model/states";
import { bytes, count, figure, moment, plural, short } from "../model/text";
import { asDate, shell, type Document } from "../model/values";
import { Empty, Facts, Failure, Field, Loading, Panel } from "../parts/basics";
import { Changes } from "../parts/changes";
import { cut } from "../parts/document";
import { VirtualList } from "../parts/virtual_list";

interface Version {
  commit?: string;
  branch?: string;  // instead of the commit: not committed
  time?: any;
  message?: string;
  author?: string;
  document: Document;
}

export function Versions({ db, route }: PageProps) {
  const { coll = "", id = "" } = route.params;
  const [typed, setTyped] = useState({ coll, id });
  const [tab, setTab] = useState<"history" | "chain">("history");
  const names = useAsked(() => collections(db, ""), [db]);
  const chosen = typed.coll || names.value?.[0]?.name || "";
  return (
    <>
      <form class="toolbar" onSubmit={event => { event.preventDefault(); go("versions", { db, coll: chosen, id: typed.id }); }}>
        <Field label="Collection">
          <select value={chosen} onChange={event => setTyped({ ...typed, coll: event.currentTarget.value })}>
            {(names.value ?? []).map(one => <option key={one.name} value={one.name}>{one.name}</option>)}
          </select>
        </Field>
        <Field label="_id" class="grow"><input class="mono" spellcheck={false} value={typed.id} placeholder={'7, "name", ObjectId("…")'} onInput={event => setTyped({ ...typed, id: event.currentTarget.value })} /></Field>
        <button type="submit" class="primary">Show</button>
      </form>
      {!coll || !id ? <Empty>Type the _id of a document, as a filter would have it. A document's page leads here, too.</Empty> : (
        <>
          <div class="tabs" role="group" aria-label="What to show of the document">
            <button type="button" aria-pressed={tab === "history"} onClick={() => setTab("history")}>Versions</button>
            <button type="button" aria-pressed={tab === "chain"} onClick={() => setTab("chain")}>How they are kept</button>
          </div>
          {tab === "history" ? <VersionList key={coll + id} db={db} collection={coll} id={id} /> : <Chain key={coll + id} db={db} collection={coll} id={id} />}
        </>
      )}
    </>
  );
}

function VersionList({ db, collection, id }: { db: string; collection: string; id: string }) {
  const found = useListed(
    () => Cursor.open<Version>(db, { aggregate: collection, cursor: { batchSize: 50 }, maxTimeMS: 60_000 }, { texts: { pipeline: `[{$history: {_id: ${id}}}]` }, canonical: true }),
    [db, collection, id],
  );
  const [selected, select] = useState(0);
  const one = found.items[selected], before = found.items[selected + 1];
  return (
    <>
      <Failure error={found.error} />
      <div class="split">
        <div class="split-list">
          {found.items.length === 0 && !found.error && (found.loading ? <Loading /> : <Empty>There are no versions of it.</Empty>)}
          {found.items.length > 0 && (
            <VirtualList label="Versions, newest first" count={found.items.length} rowHeight={30} selected={selected} select={select} onEnd={found.more} complete={found.done}
              render={row => {
                const version = found.items[row]!;
                return (
                  <>
                    {version.commit ? <span class="id">{short(version.commit)}</span> : <span class="badge branch">{version.branch}</span>}
                    <span class="message">{version.commit ? version.message || <span class="quiet">no message</span> : "not committed"}</span>
                    <span class="author">{version.author}</span>
                    <span class="when">{version.time ? moment(asDate(version.time)) : ""}</span>
                  </>
                );
              }} />
          )}
          <p class="status" role="status">{found.done ? plural(found.items.length, "version") : `${count(found.items.length)} versions read so far`}</p>
        </div>
        <aside class="split-detail" aria-label="The selected version">
          {one ? (
            <>
              <div class="detail-actions">
                {one.commit && <a class="button" href={to("history", { db, commit: one.commit })}>The commit</a>}
                <span class="quiet">{before ? "What it has differently from the version listed below it" : found.done ? "The oldest version" : ""}</span>
              </div>
              <Changes key={selected} before={before?.document} after={one.document} />
            </>
          ) : <Empty>Select a version.</Empty>}
        </aside>
      </div>
    </>
  );
}

const page = 100;

// Shows how each content is kept that lies in one chain with the document.
function Chain({ db, collection, id }: { db: string; collection: string; id: string }) {
  const [skip, setSkip] = useState(0);
  const found = useAsked(() => command(databaseAt(db, ""), { dedupChain: collection, skip, limit: page }, { texts: { _id: id } }), [db, collection, id, skip]);
  if (found.error) return <Failure error={found.error} />;
  if (!found.value) return <Loading />;
  const { nodes, document, n, more, ...chain } = found.value;
  const largest = Math.max(1, ...nodes.map((node: any) => node.contentBytes));
  const positions = new Map<string, number>(nodes.map((node: any) => [recordKey(node), node.position]));
  return (
    <>
      <div class="summary-line">
        <Facts facts={[
          ["Contents in the chain", count(n)], ["Their bytes", bytes(chain.contentBytes)], ["Stored", bytes(chain.storedBytes)], ["Ratio", chain.ratio && `${chain.ratio.toFixed(1)} : 1`],
          ["Hops of a read", chain.hops && `mean ${figure(chain.hops.mean)}, most ${count(chain.hops.max)}`], ["Hop bases", count(chain.hopBases)], ["Kept for others", count(chain.retained)],
        ]} />
      </div>
      <Panel title="The chain, newest first" actions={
        <>
          <button type="button" disabled={skip === 0} onClick={() => setSkip(Math.max(0, skip - page))}>Newer</button>
          <button type="button" disabled={!more} onClick={() => setSkip(skip + page)}>Older</button>
        </>
      }>
        <table class="hover chain">
          <thead>
            <tr>
              <th scope="col" class="number">Place</th><th scope="col">_id</th><th scope="col">Form</th><th scope="col">Stored of its content</th><th scope="col" class="number">Stored</th><th scope="col" class="number">Content</th>
              <th scope="col" class="number">Hops</th><th scope="col">Base</th>
            </tr>
          </thead>
          <tbody>
            {nodes.map((node: any) => (
              <tr key={recordKey(node)} class={document && recordKey(node) === recordKey(document) ? "selected" : ""}>
                <td class="number">{count(node.position)}</td>
                <td class="mono">{node._id === undefined ? <span class="quiet">deleted</span> : cut(shell(node._id), 34)}{document && recordKey(node) === recordKey(document) && <> <span class="badge branch">this one</span></>}</td>
                <td>
                  <span class={`badge ${node.form === "delta" ? "" : "good"}`}>{node.form}</span>{" "}{node.hopBase && <span class="badge tag">hop base</span>}{" "}{node.retained && <span class="badge">for others</span>}{" "}{node.demoted && <span class="badge">demoted</span>}
                </td>
                <td><Bar whole={node.contentBytes / largest} part={node.storedBytes / largest} /></td>
                <td class="number">{bytes(node.storedBytes)}</td><td class="number">{bytes(node.contentBytes)}</td><td class="number">{count(node.hops)}</td>
                <td class="quiet">{node.base ? <Base base={node.base} position={positions.get(recordKey(node.base))} /> : "whole"}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </Panel>
    </>
  );
}

// A content is named by its record and its generation.
const recordKey = (node: any): string => `${node.record} ${JSON.stringify(node.generation)}`;

function Base({ base, position }: { base: any; position: number | undefined }) {
  const why = base.why;
  return <>{position === undefined ? "another page" : `place ${count(position)}`}{why && `, ${why.choice}, ${why.featuresInCommon} of ${why.features} features`}</>;
}

function Bar({ whole, part }: { whole: number; part: number }) {
  return (
    <svg class="bar" width="140" height="10" aria-hidden="true">
      <rect width={Math.max(1, whole * 140)} height="10" rx="2" class="whole" />
      <rect width={Math.max(1, Math.min(part, 1) * 140)} height="10" rx="2" class="part" />
    </svg>
  );
}
