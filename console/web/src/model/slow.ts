// Slow operations, from the lines of the server's log: one JSON document each.
export interface Slow {
  time: Date;
  millis: number;
  ns: string;
  plan?: string;
  keys?: number;
  documents?: number;
  returned?: number;
  command: unknown;
}

// Newest first. A line that is no document, or tells of something else, is left out.
export function readSlow(lines: string[]): Slow[] {
  const found: Slow[] = [];
  for (const line of lines) {
    if (!line.includes("Slow query")) continue;
    try {
      const { t, attr } = JSON.parse(line);
      if (typeof attr?.durationMillis !== "number") continue;
      found.push({
        time: new Date(t.$date), millis: attr.durationMillis, ns: attr.ns ?? "", command: attr.command ?? {}, plan: attr.planSummary, keys: attr.keysExamined,
        documents: attr.docsExamined, returned: attr.nreturned,
      });
    } catch {
      continue;
    }
  }
  return found.reverse();
}
