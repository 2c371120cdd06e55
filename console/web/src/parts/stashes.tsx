// This part lists the stashes; its buttons stash pending changes, and apply a stash or pop it.
import { all, command } from "../api/session";
import { useAsked } from "../api/use";
import { databaseAt } from "../model/states";
import { moment } from "../model/text";
import { Failure, WriteButton } from "./basics";

interface Stash {
  stash: number;
  branch: string;
  time?: { $date: string };
  message?: string;
}

export function Stashes({ db, branch, changed }: { db: string; branch: string; changed: () => void }) {
  const found = useAsked(() => all<Stash>(db, { listStashes: 1 }), [db]);
  const here = databaseAt(db, branch);
  const done = () => {
    found.again();
    changed();
  };
  return (
    <section aria-label="Stashes">
      <div class="toolbar">
        <WriteButton run={() => command(here, { stash: 1 })} done={done}>Put it aside</WriteButton>
        {found.value?.length === 0 && <span class="quiet">Nothing was put aside.</span>}
      </div>
      <Failure error={found.error} />
      {(found.value ?? []).map(one => (
        <div key={one.stash} class="toolbar">
          <span class="badge branch">{one.branch}</span>
          <span>{one.message ?? `stash ${one.stash}`}</span>
          {one.time && <span class="quiet">{moment(new Date(one.time.$date))}</span>}
          <WriteButton run={() => command(here, { stashPop: one.stash })} done={done}>Bring it back to {branch}</WriteButton>
          <WriteButton run={() => command(db, { dropStash: one.stash })} done={done} confirm="Its changes are lost. Drop it?">Drop it</WriteButton>
        </div>
      ))}
    </section>
  );
}
