// A list of any length, of which only the rows in sight are in the page. All rows are equally high.
//
// With the keyboard: arrows, Page Up and Down, Home and End move the selection, which screen readers announce.
import type { ComponentChildren } from "preact";
import { useEffect, useId, useLayoutEffect, useRef, useState } from "preact/hooks";

const overscan = 8;  // rows beyond each edge

export function VirtualList({ label, count, rowHeight, render, selected, select, onEnd, complete = true, header, class: name = "" }: {
  label: string;
  count: number;
  rowHeight: number;  // pixels
  render: (row: number) => ComponentChildren;
  selected?: number;
  select?: (row: number) => void;
  onEnd?: () => void;  // the last rows are in sight
  complete?: boolean;  // there are no more rows than `count`
  header?: ComponentChildren;
  class?: string;
}) {
  const box = useRef<HTMLDivElement>(null);
  const id = useId();
  const [view, setView] = useState({ top: 0, height: 600 });

  useLayoutEffect(() => {
    const element = box.current!;
    const measure = () => setView({ top: element.scrollTop, height: element.clientHeight });
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    measure();
    return () => observer.disconnect();
  }, []);

  const first = Math.max(0, Math.floor(view.top / rowHeight) - overscan);
  const last = Math.min(count, Math.ceil((view.top + view.height) / rowHeight) + overscan);
  useEffect(() => {
    if (last >= count - overscan && !complete) onEnd?.();
  }, [last, count, complete]);

  // The selection may come from elsewhere, as from a link.
  useEffect(() => {
    const element = box.current!;
    if (selected === undefined || selected < 0) return;
    const top = selected * rowHeight;
    if (top < element.scrollTop) element.scrollTop = top;
    else if (top + rowHeight > element.scrollTop + element.clientHeight) element.scrollTop = top + rowHeight - element.clientHeight;
  }, [selected]);

  const keyDown = (event: KeyboardEvent) => {
    if (!select || count === 0) return;
    const page = Math.max(1, Math.floor(view.height / rowHeight) - 1), at = selected ?? -1;
    const target = { ArrowDown: at + 1, ArrowUp: at - 1, PageDown: at + page, PageUp: at - page, Home: 0, End: count - 1 }[event.key];
    if (target === undefined) return;
    event.preventDefault();
    select(Math.min(count - 1, Math.max(0, target)));
  };

  const rows = [];
  for (let row = first; row < last; row++)
    rows.push(
      <div key={row} id={`${id}-${row}`} role="option" aria-selected={row === selected} aria-posinset={row + 1} aria-setsize={complete ? count : -1}
        class={`row${row === selected ? " selected" : ""}${select ? " selectable" : ""}`} style={{ top: `${row * rowHeight}px`, height: `${rowHeight}px` }}
        onClick={select && (() => select(row))}>
        {render(row)}
      </div>,
    );
  return (
    <div class={`virtual-list ${name}`}>
      {header && <div class="list-header" aria-hidden="true">{header}</div>}
      <div ref={box} class="rows" role="listbox" tabIndex={0} aria-label={label} onKeyDown={keyDown}
        aria-activedescendant={selected !== undefined && selected >= first && selected < last ? `${id}-${selected}` : undefined}
        onScroll={event => { const { scrollTop, clientHeight } = event.currentTarget; setView({ top: scrollTop, height: clientHeight }); }}>
        <div class="canvas" role="presentation" style={{ height: `${count * rowHeight}px` }}>{rows}</div>
      </div>
    </div>
  );
}
