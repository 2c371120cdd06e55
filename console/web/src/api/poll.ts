// Asks again and again while a page is shown.
import { useEffect } from "preact/hooks";

// `again` of useAsked; nothing is asked while the page is in a tab that isn't looked at.
export function usePoll(again: () => void, milliseconds: number, on = true): void {
  useEffect(() => {
    if (!on) return;
    const timer = setInterval(() => document.hidden || again(), milliseconds);
    return () => clearInterval(timer);
  }, [again, milliseconds, on]);
}
