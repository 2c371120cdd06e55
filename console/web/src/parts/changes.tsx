// Shows what changed in a document, field by field, with long texts compared inside.
import { differences, longText, textPieces, type Difference } from "../model/differences";
import type { Document, Value } from "../model/values";
import { DocumentTree, ValueText } from "./document";

export function Changes({ before, after }: { before: Document | undefined; after: Document | undefined }) {
  if (!before || !after) return <DocumentTree document={(after ?? before)!} />;
  const found = differences(before, after);
  if (found.length === 0) return <p class="empty">Nothing differs.</p>;
  return <ul class="changes">{found.map(one => <li key={one.path}><span class="name">{one.path}</span><Change change={one} /></li>)}</ul>;
}

function Change({ change }: { change: Difference }) {
  const { before, after } = change;
  if (typeof before === "string" && typeof after === "string" && Math.min(before.length, after.length) >= longText) {
    const pieces = textPieces(before, after);
    if (pieces)
      return (
        <p class="text-change">
          {pieces.map((piece, at) =>
            piece.kind === "added" ? <ins key={at}>{piece.text}</ins>
            : piece.kind === "removed" ? <del key={at}>{piece.text}</del>
            : <span key={at} class={piece.kind === "skipped" ? "quiet" : ""}>{piece.text}</span>)}
        </p>
      );
  }
  return (
    <span class="value-change">
      {before !== undefined && <del><Whole value={before} /></del>}
      {before !== undefined && after !== undefined && <span class="quiet" aria-hidden="true"> → </span>}
      {after !== undefined && <ins><Whole value={after} /></ins>}
    </span>
  );
}

const Whole = ({ value }: { value: Value }) => <ValueText value={value} max={600} />;
