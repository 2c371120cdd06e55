// The graph of commits of all branches and tags, and the details of one commit.
import { useMemo, useState } from "preact/hooks";
import type { PageProps } from "../app";
import { states, type States } from "../api/database";
import { go, to } from "../api/route";
import { command, Cursor } from "../api/session";
import { useAsked, useListed } from "../api/use";
import { Lanes, type Row } from "../model/lanes";
import { MergedHistory, type Dated, type Stream } from "../model/merged";
import { databaseAt, escapeState } from "../model/states";
import { count, moment, plural, short } from "../model/text";
import { Empty, Facts, Failure, Field, Loading, WriteButton } from "../parts/basics";
import { CommitChanges } from "../parts/difference_list";
import { Graph, graphWidth } from "../parts/graph";
import { Remotes } from "../parts/remotes";
import { VirtualList } from "../parts/virtual_list";

export interface HistoryCommit extends Dated {
  message?: string;
  author?: string;
}

const rowHeight = 30;

// Returns the commits that one branch or tag comes from, with moments as dates.
async function log(db: string, state: string, filter: string): Promise<Stream<HistoryCommit>> {
  const convert = (all: any[]): HistoryCommit[] => all.map(one => ({ ...one, time: new Date(one.time.$date) }));
  const cursor = await Cursor.open(`${db}@${escapeState(state)}`, { log: 1, limit: 1_000_000_000, cursor: { batchSize: 500 } }, filter ? { texts: { filter } } : {});
  return {
    first: convert(cursor.first),
    get more() { return cursor.more; },
    next: async () => convert(await cursor.next(1000)),
    close: () => cursor.close(),
  };
}

export function History({ db, route }: PageProps) {
  const known = useAsked(() => states(db), [db]);
  if (known.error) return <Failure error={known.error} />;
  if (!known.value) return <Loading />;
  if (known.value.branches.length === 0)
    return <Empty>{db} has no branches yet. Its history begins with the first <code>createBranch</code> or <code>commit</code>.</Empty>;
  return <Commits db={db} states={known.value} again={known.again} selected={route.params.commit} shown={route.params.branch ?? ""} filter={route.params.filter ?? ""} />;
}

function Commits({ db, states, again, selected, shown, filter }: { db: string; states: States; again: () => void; selected: string | undefined; shown: string; filter: string }) {
  const [typed, setTyped] = useState(filter);
  const branches = shown ? [shown] : states.branches.map(one => one.name);
  // A tag may name a commit that no branch comes from.
  const names = shown ? branches : [...branches, ...states.tags.map(one => one.name)];
  const found = useListed<HistoryCommit>(async () => MergedHistory.open(await Promise.all(names.map(name => log(db, name, filter)))), [db, names, states.branches, filter]);
  // Rows are placed once each, although commits arrive in batches.
  const placed = useMemo(() => ({ lanes: new Lanes(), rows: [] as Row[], width: 1 }), [found.items.length === 0, db, names.join(), filter]);
  for (let at = placed.rows.length; at < found.items.length; at++) {
    const row = placed.lanes.add(found.items[at]!);
    placed.rows.push(row);
    placed.width = Math.max(placed.width, row.width);
  }
  const labels = useMemo(() => {
    const all = new Map<string, { name: string; kind: "branch" | "tag" }[]>();
    const put = (commit: string, name: string, kind: "branch" | "tag") => all.set(commit, [...(all.get(commit) ?? []), { name, kind }]);
    states.branches.forEach(one => put(one.commit, one.name, "branch"));
    states.tags.forEach(one => put(one.commit, one.name, "tag"));
    return all;
  }, [states]);
  const at = selected ? found.items.findIndex(one => one.commit === selected) : -1;
  const one = found.items[at];
  const link = (commit: string) => go("history", { db, branch: shown, filter, commit });
  return (
    <>
      <div class="toolbar">
        <Field label="Show">
          <select value={shown} onChange={event => go("history", { db, branch: event.currentTarget.value, filter })}>
            <option value="">all branches and tags</option>
            {states.branches.map(branch => <option key={branch.name} value={branch.name}>{branch.name}</option>)}
          </select>
        </Field>
        <form onSubmit={event => { event.preventDefault(); go("history", { db, branch: shown, filter: typed }); }}>
          <Field label="Filter"><input value={typed} placeholder="{author: 'ann'}" onInput={event => setTyped(event.currentTarget.value)} /></Field>
        </form>
        <button type="button" onClick={again}>Refresh</button>
        <Uncommitted db={db} states={states} />
      </div>
      <Remotes db={db} branch={shown || "main"} changed={again} />
      <Failure error={found.error} />
      <div class="split tall">
        <div class="split-list">
          {found.items.length === 0 && found.loading ? <Loading /> : (
            <VirtualList label="Commits, newest first" count={found.items.length} rowHeight={rowHeight} class="history" selected={at} select={row => link(found.items[row]!.commit)}
              onEnd={found.more} complete={found.done}
              render={row => {
                const commit = found.items[row]!;
                return (
                  <>
                    {!filter && <Graph row={placed.rows[row]!} height={rowHeight} width={graphWidth(placed.width)} merge={commit.parents.length > 1} />}
                    <span class="message">
                      {labels.get(commit.commit)?.map(label => <span key={label.kind + label.name} class={`badge ${label.kind}`}>{label.name}</span>)}
                      {commit.message || <span class="quiet">no message</span>}
                    </span>
                    <span class="author">{commit.author}</span>
                    <span class="when">{moment(commit.time)}</span>
                    <span class="commit-id mono">{short(commit.commit)}</span>
                  </>
                );
              }} />
          )}
          <p class="status" role="status">{found.done ? plural(found.items.length, "commit") : `${count(found.items.length)} commits read so far`}{!found.done && <> <button type="button" class="link" onClick={found.rest}>Read all</button></>}</p>
        </div>
        <aside class="split-detail" aria-label="The selected commit">
          {one ? <CommitDetails key={one.commit} db={db} commit={one} labels={labels.get(one.commit) ?? []} branch={shown} changed={again} /> : <Empty>Select a commit.</Empty>}
        </aside>
      </div>
    </>
  );
}

// Returns the branches that have changes which aren't committed.
function Uncommitted({ db, states }: { db: string; states: States }) {
  const found = useAsked(() => Promise.all(states.branches.map(async one => ({ name: one.name, status: await command(`${db}@${escapeState(one.name)}`, { status: 1 }) }))), [db, states.branches]);
  const dirty = (found.value ?? []).filter(one => !one.status.clean);
  if (dirty.length === 0) return found.value ? <span class="quiet">Everything is committed.</span> : null;
  return <span>Not committed: {dirty.map(one => <a key={one.name} class="badge branch" href={to("compare", { db, to: one.name, pending: "1" })}>{one.name}</a>)}</span>;
}

function CommitDetails({ db, commit, labels, branch, changed }: { db: string; commit: HistoryCommit; labels: { name: string; kind: string }[]; branch: string; changed: () => void }) {
  const [name, setName] = useState("");
  return (
    <>
      <h2 class="wrap">{commit.message || "No message"}</h2>
      {labels.length > 0 && <div>{labels.map(one => <span key={one.name} class={`badge ${one.kind}`}>{one.name}</span>)}</div>}
      <Facts facts={[
        ["Commit", <span class="mono">{commit.commit}</span>], ["Author", commit.author], ["Time", moment(commit.time, true)],
        [commit.parents.length > 1 ? "Merge of" : "Parent", commit.parents.map(parent => <a key={parent} class="mono spaced" href={to("history", { db, branch, commit: parent })}>{short(parent)}</a>)],
      ]} />
      <div class="detail-actions">
        <a class="button" href={to("collections", { db, state: commit.commit })}>Browse</a>
        {commit.parents[0] && <a class="button" href={to("compare", { db, from: commit.parents[0], to: commit.commit })}>Compare with its parent</a>}
        <a class="button" href={to("proofs", { db, state: commit.commit })}>Prove</a>
      </div>
      <div class="detail-actions">
        <Field label="Name"><input value={name} onInput={event => setName(event.currentTarget.value)} /></Field>
        <WriteButton run={() => command(db, { createBranch: name, from: commit.commit })} done={changed}>Make a branch here</WriteButton>
        <WriteButton run={() => command(db, { createTag: name, from: commit.commit })} done={changed}>Make a tag</WriteButton>
      </div>
      {branch && (
        <div class="detail-actions">
          <WriteButton run={() => command(databaseAt(db, branch), { squash: commit.commit })} done={changed} confirm={`All later commits of ${branch} become one.`}>Squash what came after</WriteButton>
          <WriteButton run={() => command(databaseAt(db, branch), { rebase: commit.commit })} done={changed} confirm={`The commits of ${branch} are written anew on top of this one.`}>Rebase {branch} onto it</WriteButton>
        </div>
      )}
      {commit.parents[0] ? <CommitChanges db={db} from={commit.parents[0]} to={commit.commit} /> : <p class="quiet">The first commit has nothing to be compared with.</p>}
    </>
  );
}
