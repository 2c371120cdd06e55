// The frame around the pages: where one can go, which database is looked at, and the theme.
import type { ComponentType } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { databases } from "./api/database";
import { go, to, useRoute, type Route } from "./api/route";
import { session } from "./api/session";
import { useAsked } from "./api/use";
import { Failure, Field, Loading } from "./parts/basics";
import { ThemeSwitch } from "./parts/theme";
import { Collections } from "./pages/collections";
import { Compare } from "./pages/compare";
import { History } from "./pages/history";
import { Members } from "./pages/members";
import { Merge } from "./pages/merge";
import { Operations } from "./pages/operations";
import { Overview } from "./pages/overview";
import { Proofs } from "./pages/proofs";
import { Snapshots } from "./pages/snapshots";
import { Versions } from "./pages/versions";

export interface PageProps {
  db: string;
  route: Route;
}

const pages: { name: string; title: string; page: ComponentType<PageProps>; ofServer?: true }[] = [
  { name: "overview", title: "Overview", page: Overview, ofServer: true },
  { name: "collections", title: "Collections", page: Collections },
  { name: "history", title: "History", page: History },
  { name: "compare", title: "Compare", page: Compare },
  { name: "versions", title: "Versions", page: Versions },
  { name: "snapshots", title: "Snapshots", page: Snapshots },
  { name: "merge", title: "Merge", page: Merge },
  { name: "proofs", title: "Proofs", page: Proofs },
  { name: "members", title: "Replica set", page: Members, ofServer: true },
  { name: "operations", title: "Operations", page: Operations, ofServer: true },
];

const ownDatabases = ["admin", "config", "local"];

export function App() {
  const route = useRoute();
  const names = useAsked(() => databases(), []);
  const current = pages.find(one => one.name === route.page) ?? pages[0]!;
  const known = names.value ?? [];
  const last = useRef("");
  const db = route.params.db ?? (last.current || session.database || known.find(name => !ownDatabases.includes(name)) || known[0] || "");
  last.current = db;
  const heading = useRef<HTMLHeadingElement>(null);
  // A screen reader then says that another page is there.
  const first = useRef(true);
  useEffect(() => {
    document.title = `${current.title} · Palimpsest`;
    if (!first.current) heading.current?.focus();
    first.current = false;
  }, [current.name]);
  const Page = current.page;
  return (
    <div class="frame">
      <a class="skip" href="#content" onClick={event => { event.preventDefault(); heading.current?.focus(); }}>Skip to the content</a>
      <nav aria-label="Pages">
        <p class="brand"><span class="mark" aria-hidden="true" />Palimpsest</p>
        <ul>
          {pages.map(one => (
            <li key={one.name}>
              <a href={to(one.name, one.ofServer ? {} : { db })} aria-current={one === current ? "page" : undefined}>{one.title}</a>
            </li>
          ))}
        </ul>
        <div class="foot">
          <p class="server" title={session.hosts}>{session.hosts.split(",").map(host => <span key={host}>{host}</span>)}</p>
          <p class={session.writes ? "mode writes" : "mode"}>{session.writes ? "may write" : "only reads"}</p>
          <ThemeSwitch />
          <a class="licences" href="/licences.txt" target="_blank" rel="noopener">Licences</a>
        </div>
      </nav>
      <main id="content">
        <header class="page-header">
          <h1 ref={heading} tabIndex={-1}>{current.title}</h1>
          {!current.ofServer && (
            <Field label="Database">
              <select value={db} onChange={event => go(current.name, { db: event.currentTarget.value })}>
                {(known.includes(db) || db === "" ? known : [db, ...known]).map(name => <option key={name} value={name}>{name}</option>)}
              </select>
            </Field>
          )}
        </header>
        <Failure error={names.error} />
        {names.value && (db === "" ? <p class="empty">There is no database yet.</p> : <Page key={current.name + (current.ofServer ? "" : db)} db={db} route={route} />)}
        {!names.value && !names.error && <Loading />}
      </main>
    </div>
  );
}
