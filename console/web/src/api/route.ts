// The address says behind the # which page is shown: page?name=value. So links can be opened in a tab and kept.
import { useEffect, useMemo, useState } from "preact/hooks";

export interface Route {
  page: string;
  params: Record<string, string>;
}

export function read(hash: string): Route {
  const [page = "", query = ""] = hash.replace(/^#\/?/, "").split("?");
  return { page: page || "overview", params: Object.fromEntries(new URLSearchParams(query)) };
}

export function to(page: string, params: Record<string, string | undefined> = {}): string {
  const kept = Object.entries(params).filter((one): one is [string, string] => one[1] !== undefined && one[1] !== "");
  const query = new URLSearchParams(kept).toString();
  return `#/${page}${query ? "?" + query : ""}`;
}

export function go(page: string, params: Record<string, string | undefined> = {}): void {
  location.hash = to(page, params);
}

export function useRoute(): Route {
  const [hash, set] = useState(location.hash);
  useEffect(() => {
    const changed = () => set(location.hash);
    addEventListener("hashchange", changed);
    changed();  // It may have changed since the page was drawn.
    return () => removeEventListener("hashchange", changed);
  }, []);
  return useMemo(() => read(hash), [hash]);
}
