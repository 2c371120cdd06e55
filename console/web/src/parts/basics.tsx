// Small things that all pages are made of.
import { cloneElement, type ComponentChildren, type VNode } from "preact";
import { useId, useState } from "preact/hooks";
import { session, ServerError } from "../api/session";

export function Failure({ error }: { error: Error | undefined }) {
  if (!error) return null;
  const code = error instanceof ServerError ? ` (${error.codeName}, ${error.code})` : "";
  return <p class="failure" role="alert">{error.message}<span class="quiet">{code}</span></p>;
}

export function Panel({ title, actions, children, class: name = "" }: { title: string; actions?: ComponentChildren; children: ComponentChildren; class?: string }) {
  return (
    <section class={`panel ${name}`} aria-label={title}>
      <header><h2>{title}</h2>{actions && <div class="actions">{actions}</div>}</header>
      {children}
    </section>
  );
}

// Names and values beside each other; what is undefined is left out.
export function Facts({ facts }: { facts: [string, ComponentChildren | undefined][] }) {
  return (
    <dl class="facts">
      {facts.filter(([, value]) => value !== undefined && value !== "").map(([name, value]) => <div key={name}><dt>{name}</dt><dd>{value}</dd></div>)}
    </dl>
  );
}

export const Empty = ({ children }: { children: ComponentChildren }) => <p class="empty">{children}</p>;
export const Loading = () => <p class="empty" role="status">Loading…</p>;

// A form's control with its label. The label stands beside the control and not around it: else a choice's own words would be a part of its name.
export function Field({ label, children, class: name = "" }: { label: string; children: VNode<any>; class?: string }) {
  const id = useId();
  return <div class={`field ${name}`}><label for={id}>{label}</label>{cloneElement(children, { id })}</div>;
}

// A button for something that changes the server. Without --write it can't be pressed, and says why. `confirm` asks once more; `main` is for
// what a page is there for.
export function WriteButton({ run, children, confirm, main = false, danger = false, done }: {
  run: () => Promise<unknown>; children: ComponentChildren; confirm?: string; main?: boolean; danger?: boolean; done?: () => void;
}) {
  const [state, set] = useState<{ busy: boolean; asking: boolean; error?: Error }>({ busy: false, asking: false });
  const act = async () => {
    if (confirm && !state.asking) return set({ busy: false, asking: true });
    set({ busy: true, asking: false });
    try {
      await run();
      set({ busy: false, asking: false });
      done?.();
    } catch (error) {
      set({ busy: false, asking: false, error: error as Error });
    }
  };
  return (
    <span class="write-button">
      {state.asking && <span class="asking">{confirm}</span>}
      <button type="button" class={danger || state.asking ? "danger" : main ? "primary" : ""} disabled={!session.writes || state.busy} onClick={act}
        title={session.writes ? undefined : "The console was started without --write"}>
        {state.busy ? "…" : state.asking ? "Yes" : children}
      </button>
      {state.asking && <button type="button" onClick={() => set({ busy: false, asking: false })}>No</button>}
      <Failure error={state.error} />
    </span>
  );
}

export const ReadOnlyNote = () =>
  session.writes ? null : <p class="note">This console only reads. To change something here, start it with <code>--write</code>.</p>;
