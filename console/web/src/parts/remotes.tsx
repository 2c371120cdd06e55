// The databases of other servers that this one exchanges commits with.
import { useState } from "preact/hooks";
import { all, command } from "../api/session";
import { useAsked } from "../api/use";
import { databaseAt } from "../model/states";
import { plural, short } from "../model/text";
import { WriteButton } from "./basics";

interface Remote {
  name: string;
  uri: string;
  refs: { name: string; commit?: string }[];
}

export function Remotes({ db, branch, changed }: { db: string; branch: string; changed: () => void }) {
  const found = useAsked(() => all<Remote>(db, { listRemotes: 1 }).catch(() => [] as Remote[]), [db]);
  const [said, say] = useState("");
  const fetched = async (remote: string) => say(`${remote}: ${plural((await command(db, { fetch: remote })).made, "new commit")}`);
  const pushed = async (remote: string) => {
    const reply = await command(db, { push: remote, branch });
    say(`${remote}: ${branch} is ${reply.change} at ${short(reply.commit)}`);
  };
  const pulled = async (remote: string) => {
    const reply = await command(databaseAt(db, branch), { pull: remote, branch });
    say(reply.changed ? `${branch} has what ${remote} has, at ${short(reply.commit)}` : `${remote} has nothing new for ${branch}`);
  };
  const done = () => {
    found.again();
    changed();
  };
  if (!found.value?.length) return null;
  return (
    <section aria-label="Remotes">
      {found.value.map(one => (
        <div key={one.name} class="toolbar">
          <strong>{one.name}</strong><span class="quiet">{one.uri}</span>
          {one.refs.map(ref => <span key={ref.name} class="badge tag">{ref.name} {short(ref.commit ?? "")}</span>)}
          <WriteButton run={() => fetched(one.name)} done={done}>Fetch</WriteButton>
          <WriteButton run={() => pushed(one.name)} done={done}>Push {branch}</WriteButton>
          <WriteButton run={() => pulled(one.name)} done={done}>Pull {branch}</WriteButton>
        </div>
      ))}
      <p class="status" role="status">{said}</p>
    </section>
  );
}
