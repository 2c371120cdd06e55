// Declared snapshots on a time line, and the documents as of one of them.
import { useRef, useState } from "preact/hooks";
import type { PageProps } from "../app";
import { collections, states, type CollectionInfo, type Snapshot } from "../api/database";
import { go } from "../api/route";
import { command } from "../api/session";
import { useAsked } from "../api/use";
import { moment, plural } from "../model/text";
import { Empty, Failure, Field, Loading, Panel, ReadOnlyNote, WriteButton } from "../parts/basics";
import { Documents } from "../parts/documents";

export function Snapshots({ db, route }: PageProps) {
  const { coll = "", at = "", branch = "" } = route.params;
  const known = useAsked(() => states(db), [db]);
  const [name, setName] = useState("");
  if (known.error) return <Failure error={known.error} />;
  if (!known.value) return <Loading />;
  const { snapshots, branches } = known.value;
  const chosen = snapshots.findIndex(one => String(one.number) === at);
  const place = chosen >= 0 ? chosen : snapshots.length - 1;
  const one = snapshots[place];
  const set = (next: Record<string, string>) => go("snapshots", { db, coll, at, branch, ...next });
  return (
    <>
      <ReadOnlyNote />
      <Panel title={plural(snapshots.length, "declared snapshot")} actions={
        <>
          <Field label="Name"><input value={name} placeholder="optional" onInput={event => setName(event.currentTarget.value)} /></Field>
          <WriteButton main run={() => command("admin", { createSnapshot: 1, ...(name ? { name } : {}) })} done={known.again}>Declare a snapshot</WriteButton>
        </>
      }>
        <div class="inset">
          {!one ? <Empty>There are none. A snapshot keeps the moment at which it was declared readable.</Empty> : (
            <>
              <TimeLine snapshots={snapshots} place={place} select={next => set({ at: String(snapshots[next]!.number) })} />
              <div class="toolbar">
                <strong>{one.name}</strong><span class="quiet">number {one.number}, declared {moment(one.time, true)}</span>
                <WriteButton danger confirm={`Drop ${one.name}?`} run={() => command("admin", { dropSnapshot: one.name })} done={() => { set({ at: "" }); known.again(); }}>Drop</WriteButton>
              </div>
            </>
          )}
        </div>
      </Panel>
      {one && <AsOf db={db} snapshot={one} branch={branch} branches={branches.map(each => each.name)} collection={coll} set={set} />}
    </>
  );
}

// Each snapshot is a mark at its time; the slider goes from one to the next, however far apart they are.
function TimeLine({ snapshots, place, select }: { snapshots: Snapshot[]; place: number; select: (place: number) => void }) {
  const first = snapshots[0]!.time.getTime(), last = snapshots.at(-1)!.time.getTime();
  const x = (one: Snapshot) => (last === first ? 50 : 1 + (98 * (one.time.getTime() - first)) / (last - first));
  const chosen = snapshots[place]!;
  return (
    <div class="time-line">
      <svg width="100%" height="34" aria-hidden="true">
        <line x1="0" x2="100%" y1="22" y2="22" stroke="var(--line-strong)" />
        {snapshots.map(one => <line key={one.number} x1={`${x(one)}%`} x2={`${x(one)}%`} y1="14" y2="30" stroke="var(--quiet)" stroke-width="1.5" />)}
        <circle cx={`${x(chosen)}%`} cy="22" r="7" fill="var(--accent)" />
      </svg>
      <input type="range" aria-label="Snapshot" min={0} max={snapshots.length - 1} step={1} value={place} aria-valuetext={`${chosen.name}, ${moment(chosen.time)}`}
        onInput={event => select(Number(event.currentTarget.value))} />
      <div class="ends"><span>{moment(snapshots[0]!.time)}</span><span>{moment(snapshots.at(-1)!.time)}</span></div>
    </div>
  );
}

function AsOf({ db, snapshot, branch, branches, collection, set }: {
  db: string; snapshot: Snapshot; branch: string; branches: string[]; collection: string; set: (next: Record<string, string>) => void;
}) {
  // The number always means the snapshot, while a branch might have the snapshot's name.
  const state = `${branch ? branch + "@" : ""}s${snapshot.number}`;
  const names = useAsked(() => collections(db, state), [db, state]);
  // Those of the snapshot before stay until the next ones are known, so that what was typed as a filter stays as well.
  const last = useRef<CollectionInfo[] | undefined>(undefined);
  last.current = names.value ?? last.current;
  const known = last.current ?? [];
  const shown = known.some(one => one.name === collection) ? collection : known[0]?.name;
  return (
    <>
      <div class="toolbar">
        <Field label="Collection">
          <select value={shown ?? ""} onChange={event => set({ coll: event.currentTarget.value })}>{known.map(one => <option key={one.name} value={one.name}>{one.name}</option>)}</select>
        </Field>
        {branches.length > 0 && (
          <Field label="Branch">
            <select value={branch || "main"} onChange={event => set({ branch: event.currentTarget.value === "main" ? "" : event.currentTarget.value })}>{branches.map(one => <option key={one} value={one}>{one}</option>)}</select>
          </Field>
        )}
      </div>
      <Failure error={names.error} />
      {last.current && (shown ? <Documents db={db} state={state} collection={shown} /> : <Empty>{db} had no collections then.</Empty>)}
    </>
  );
}
