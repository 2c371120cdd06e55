// Hooks by which pages ask the server.
import { useCallback, useEffect, useRef, useState } from "preact/hooks";

export interface Asked<T> {
  value?: T;
  error?: Error;
  loading: boolean;
  again: () => void;
}

// Asks when the page is shown and whenever `on` changes; an answer that comes too late is dropped. The last answer stays in place while
// the next one is awaited, unless it was to another question.
export function useAsked<T>(ask: (signal: AbortSignal) => Promise<T>, on: unknown[]): Asked<T> {
  const [state, set] = useState<{ key: string; value?: T; error?: Error; loading: boolean }>({ key: "", loading: true });
  const [turn, setTurn] = useState(0);
  const key = JSON.stringify(on);
  useEffect(() => {
    const abort = new AbortController();
    set(old => (old.key === key ? { ...old, loading: true } : { key, loading: true }));
    ask(abort.signal).then(
      value => abort.signal.aborted || set({ key, value, loading: false }),
      error => abort.signal.aborted || set({ key, error, loading: false }),
    );
    return () => abort.abort();
  }, [key, turn]);
  const again = useCallback(() => setTurn(old => old + 1), []);
  const current = state.key === key ? state : { loading: true };
  return { ...current, again };
}

export interface Listed<T> {
  items: T[];
  done: boolean;  // everything is there
  error?: Error;
  loading: boolean;
  more: () => void;  // reads the next batch, unless that is under way
  rest: () => void;  // reads batch after batch until everything is there
  again: () => void;
}

// A Source returns items batch by batch; a Cursor is one.
export interface Source<T> {
  first: T[];
  readonly more: boolean;
  next(): Promise<T[]>;
  close(): void;
}

export function useListed<T>(open: () => Promise<Source<T>>, on: unknown[]): Listed<T> {
  const [state, set] = useState<{ key: string; items: T[]; done: boolean; error?: Error; loading: boolean }>({ key: "", items: [], done: false, loading: true });
  const [turn, setTurn] = useState(0);
  const source = useRef<Source<T> | undefined>(undefined);
  const busy = useRef(true);
  const key = JSON.stringify(on);
  useEffect(() => {
    let gone = false;
    busy.current = true;
    source.current = undefined;
    set({ key, items: [], done: false, loading: true });
    open().then(
      opened => {
        if (gone) return opened.close();
        source.current = opened;
        busy.current = false;
        set({ key, items: opened.first, done: !opened.more, loading: false });
      },
      error => gone || set({ key, items: [], done: true, error, loading: false }),
    );
    return () => {
      gone = true;
      source.current?.close();
    };
  }, [key, turn]);

  const more = useCallback(() => {
    const from = source.current;
    if (!from || busy.current || !from.more) return;
    busy.current = true;
    set(old => ({ ...old, loading: true }));
    from.next().then(
      batch => {
        if (source.current !== from) return;
        busy.current = false;
        set(old => ({ ...old, items: old.items.concat(batch), done: !from.more, loading: false }));
      },
      error => source.current === from && set(old => ({ ...old, error, done: true, loading: false })),
    );
  }, []);
  // The key of the list that is read to its end.
  const [whole, setWhole] = useState("");
  const rest = useCallback(() => setWhole(key), [key]);
  useEffect(() => {
    if (whole === key && !state.loading && !state.done) more();
  }, [whole, key, state]);
  const again = useCallback(() => setTurn(old => old + 1), []);
  const current = state.key === key ? state : { items: [], done: false, loading: true };
  return { ...current, more, rest, again };
}
