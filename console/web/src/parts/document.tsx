// A document as a tree that folds, with the type of each value in its colour.
import { useState } from "preact/hooks";
import { entries, holdsValues, kind, shell, type Document, type Value } from "../model/values";

const textMax = 300;  // characters of a string shown at first
const fieldsMax = 100;  // fields or elements shown at first

export function ValueText({ value, max = textMax }: { value: Value; max?: number }) {
  const [whole, setWhole] = useState(false);
  const text = shell(value);
  if (text.length <= max || whole) return <span class={`value ${kind(value)}`}>{text}</span>;
  return (
    <span class={`value ${kind(value)}`}>
      {text.slice(0, max)}… <button type="button" class="link" onClick={() => setWhole(true)}>all {text.length} characters</button>
    </span>
  );
}

export function DocumentTree({ document, open = 1 }: { document: Document | Value[]; open?: number }) {
  const [all, setAll] = useState(false);
  const fields = entries(document);
  if (fields.length === 0) return <p class="value quiet">{Array.isArray(document) ? "[]" : "{}"}</p>;
  return (
    <ul class="tree">
      {(all ? fields : fields.slice(0, fieldsMax)).map(([name, value]) => <TreeField key={name} name={name} value={value} open={open} />)}
      {!all && fields.length > fieldsMax && <li><button type="button" class="link" onClick={() => setAll(true)}>{fields.length - fieldsMax} more</button></li>}
    </ul>
  );
}

function TreeField({ name, value, open }: { name: string; value: Value; open: number }) {
  const [shown, setShown] = useState(open > 0);
  if (!holdsValues(value)) return <li><span class="name">{name}</span><ValueText value={value} /></li>;
  const size = entries(value).length;
  return (
    <li>
      <button type="button" class="fold" aria-expanded={shown} onClick={() => setShown(!shown)}>
        <span class="name">{name}</span><span class="quiet">{Array.isArray(value) ? `[${size}]` : `{${size}}`}</span>
      </button>
      {shown && <DocumentTree document={value} open={open - 1} />}
    </li>
  );
}

// One line that fits a row of a list.
export function summary(document: Document, max = 400): string {
  let text = "";
  for (const [name, value] of entries(document)) {
    if (name === "_id") continue;
    text += `${text ? "  " : ""}${name}: ${cut(shell(value), 60)}`;
    if (text.length > max) break;
  }
  return text;
}

export const cut = (text: string, max: number): string => (text.length > max ? text.slice(0, max - 1) + "…" : text);
