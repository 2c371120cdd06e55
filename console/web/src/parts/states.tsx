// Chooses a state of a database: a branch, tag, commit or snapshot.
import type { States } from "../api/database";
import { short } from "../model/text";
import { Field } from "./basics";

export function StateSelect({ label, states, value, change, snapshots = true, none }: {
  label: string;
  states: States | undefined;
  value: string;
  change: (state: string) => void;
  snapshots?: boolean;
  none?: string;  // what "" means, where it may be chosen
}) {
  const branches = states?.branches.map(one => one.name) ?? [];
  const names = new Set([...branches, ...(states?.tags.map(one => one.name) ?? []), ...(snapshots ? states?.snapshots.map(one => one.name) ?? [] : [])]);
  return (
    <Field label={label}>
      <select value={value} onChange={event => change(event.currentTarget.value)}>
        {none !== undefined && <option value="">{none}</option>}
        {branches.length > 0 && <optgroup label="Branches">{branches.map(name => <option key={name} value={name}>{name}</option>)}</optgroup>}
        {states && states.tags.length > 0 && <optgroup label="Tags">{states.tags.map(one => <option key={one.name} value={one.name}>{one.name}</option>)}</optgroup>}
        {snapshots && states && states.snapshots.length > 0 && (
          <optgroup label="Snapshots">{states.snapshots.map(one => <option key={one.name} value={one.name}>{one.name}</option>)}</optgroup>
        )}
        {value !== "" && !names.has(value) && <option value={value}>{/^[0-9a-f]{12,}$/.test(value) ? `commit ${short(value)}` : value}</option>}
      </select>
    </Field>
  );
}
