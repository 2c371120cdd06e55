// Figures for charts, from two answers of serverStatus.
export interface Sample {
  at: number;  // seconds since 1970
  operations: Record<string, number | null>;  // a second, since the last sample
  latencies: Record<string, number | null>;  // milliseconds on average, since the last sample
  cache: { used: number; dirty: number; limit: number };  // bytes
  network: { in: number | null; out: number | null };  // bytes a second
  connections: { current: number; active: number };
  ratio: number | null;  // logical bytes for each stored byte
}

export const operationNames = ["query", "insert", "update", "delete", "getmore", "command"];
export const latencyNames = ["reads", "writes", "commands"];

// `before` is absent for the first sample, whose rates are null: nothing is known of the time before.
export function sample(status: any, before: any | undefined): Sample {
  // A restart between the two makes all counters begin again.
  const seconds = before && before.pid === status.pid ? (status.uptimeMillis - before.uptimeMillis) / 1000 : 0;
  const since = (now: number | undefined, then: number | undefined) => (seconds > 0 && now !== undefined && then !== undefined ? now - then : null);
  const rate = (now: number | undefined, then: number | undefined) => {
    const count = since(now, then);
    return count === null ? null : count / seconds;
  };
  const mean = (name: string) => {
    const operations = since(status.opLatencies?.[name]?.ops, before?.opLatencies?.[name]?.ops);
    const micros = since(status.opLatencies?.[name]?.latency, before?.opLatencies?.[name]?.latency);
    return operations && micros !== null ? micros / operations / 1000 : null;
  };
  const cache = status.wiredTiger?.cache ?? {};
  const dedup = status.dedup ?? {};
  return {
    at: Date.parse(status.localTime.$date) / 1000,
    operations: Object.fromEntries(operationNames.map(name => [name, rate(status.opcounters?.[name], before?.opcounters?.[name])])),
    latencies: Object.fromEntries(latencyNames.map(name => [name, mean(name)])),
    cache: { used: cache["bytes currently in the cache"] ?? 0, dirty: cache["tracked dirty bytes in the cache"] ?? 0, limit: cache["maximum bytes configured"] ?? 0 },
    network: { in: rate(status.network?.bytesIn, before?.network?.bytesIn), out: rate(status.network?.bytesOut, before?.network?.bytesOut) },
    connections: { current: status.connections?.current ?? 0, active: status.connections?.active ?? 0 },
    ratio: dedup.storedBytes > 0 ? dedup.logicalBytes / dedup.storedBytes : null,
  };
}
