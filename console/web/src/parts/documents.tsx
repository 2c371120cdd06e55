// The documents of a collection that a filter finds, as a state shows them: a list that is read as somebody scrolls, and one document.
import { useEffect, useState } from "preact/hooks";
import { to } from "../api/route";
import { Cursor } from "../api/session";
import { useListed } from "../api/use";
import { databaseAt } from "../model/states";
import { count } from "../model/text";
import { shell, type Document } from "../model/values";
import { Empty, Failure, Field, Loading } from "./basics";
import { cut, DocumentTree, summary } from "./document";
import { VirtualList } from "./virtual_list";

export function Documents({ db, state, collection }: { db: string; state: string; collection: string }) {
  const [typed, setTyped] = useState({ filter: "{}", sort: "{_id: 1}" });
  const [query, setQuery] = useState(typed);
  const [selected, select] = useState(-1);
  const database = databaseAt(db, state);
  const found = useListed(
    () => Cursor.open<Document>(database, { find: collection, batchSize: 100, maxTimeMS: 60_000 }, { texts: { filter: query.filter || "{}", sort: query.sort || "{}" }, canonical: true }),
    [database, collection, query],
  );
  useEffect(() => select(-1), [database, collection, query]);
  const document = found.items[selected];
  return (
    <>
      <form class="toolbar" onSubmit={event => { event.preventDefault(); setQuery({ ...typed }); }}>
        <Field label="Filter" class="grow"><input class="mono" spellcheck={false} value={typed.filter} placeholder={'{lang: "en", views: {$gt: 100}}'} onInput={event => setTyped({ ...typed, filter: event.currentTarget.value })} /></Field>
        <Field label="Sort"><input class="mono" spellcheck={false} value={typed.sort} onInput={event => setTyped({ ...typed, sort: event.currentTarget.value })} /></Field>
        <button type="submit" class="primary">Find</button>
      </form>
      <Failure error={found.error} />
      <div class="split">
        <div class="split-list">
          {found.items.length === 0 && !found.error && (found.loading ? <Loading /> : <Empty>No document matches.</Empty>)}
          {found.items.length > 0 && (
            <VirtualList label={`Documents of ${collection}`} count={found.items.length} rowHeight={26} selected={selected} select={select} onEnd={found.more} complete={found.done}
              render={row => <><span class="id">{cut(shell(found.items[row]!._id), 40)}</span><span class="rest">{summary(found.items[row]!)}</span></>} />
          )}
          <p class="status" role="status">{count(found.items.length)} {found.done ? "documents" : "read so far"}{found.loading && found.items.length > 0 ? "; reading…" : ""}</p>
        </div>
        <aside class="split-detail" aria-label="The selected document" aria-live="polite">
          {document ? (
            <>
              <div class="detail-actions">
                <a class="button" href={to("versions", { db, coll: collection, id: shell(document._id) })}>Versions</a>
                <a class="button" href={to("proofs", { db, state, coll: collection, id: shell(document._id) })}>Proof</a>
              </div>
              <DocumentTree key={`${selected}`} document={document} />
            </>
          ) : <Empty>Select a document.</Empty>}
        </aside>
      </div>
    </>
  );
}
