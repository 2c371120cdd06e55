// This page shows how the server is doing, from serverStatus every two seconds, and what it is.
import { useEffect, useState } from "preact/hooks";
import type { PageProps } from "../app";
import { command } from "../api/session";
import { useAsked } from "../api/use";
import { latencyNames, operationNames, sample, type Sample } from "../model/rates";
import { bytes, count, duration, figure, moment, ratio } from "../model/text";
import { Facts, Failure, Loading, Panel } from "../parts/basics";
import { Chart } from "../parts/chart";

const interval = 2000, kept = 300;  // milliseconds; samples, which are ten minutes

// They outlive the page, so that the curves go on where they were when somebody comes back.
const samples: Sample[] = [];
let last: any;

function useSamples() {
  const [state, set] = useState<{ status: any; error?: Error; turn: number }>({ status: last, turn: 0 });
  useEffect(() => {
    let gone = false, timer = 0;
    const ask = async () => {
      try {
        const status = await command("admin", { serverStatus: 1 });
        samples.push(sample(status, last));
        samples.splice(0, samples.length - kept);
        last = status;
        if (!gone) set(old => ({ status, turn: old.turn + 1 }));
      } catch (error) {
        if (!gone) set(old => ({ ...old, error: error as Error, turn: old.turn + 1 }));
      }
      if (!gone) timer = window.setTimeout(ask, interval);
    };
    void ask();
    return () => {
      gone = true;
      clearTimeout(timer);
    };
  }, []);
  return state;
}

const megabytes = (value: number | null | undefined) => bytes(value);
const rate = (value: number | null | undefined) => (value === null || value === undefined ? "–" : `${bytes(value)}/s`);
const millis = (value: number | null | undefined) => (value === null || value === undefined ? "–" : `${figure(value)} ms`);
const toOne = (value: number | null | undefined) => (value === null || value === undefined ? "–" : `${value.toFixed(2)} : 1`);

export function Overview(_: PageProps) {
  const { status, error } = useSamples();
  const databases = useAsked(() => command("admin", { listDatabases: 1 }), []);
  if (!status) return error ? <Failure error={error} /> : <Loading />;
  const times = samples.map(one => one.at);
  const row = (pick: (one: Sample) => number | null) => samples.map(pick);
  const { dedup, connections, mem, repl, oplog, snapshots, diskSpace } = status;
  return (
    <>
      <Failure error={error} />
      <div class="charts">
        <Chart title="Operations per second" times={times} format={figure} curves={operationNames.map((name, at) => ({ name, colour: `--curve-${at + 1}` }))}
          values={operationNames.map(name => row(one => one.operations[name] ?? null))} />
        <Chart title="Mean latency" times={times} format={millis} curves={latencyNames.map((name, at) => ({ name, colour: `--curve-${at + 1}` }))}
          values={latencyNames.map(name => row(one => one.latencies[name] ?? null))} />
        <Chart title="Cache" times={times} format={megabytes} curves={[{ name: "used", colour: "--curve-1" }, { name: "dirty", colour: "--curve-3" }]}
          values={[row(one => one.cache.used), row(one => one.cache.dirty)]} />
        <Chart title="Connections" times={times} format={figure} curves={[{ name: "open", colour: "--curve-1" }, { name: "active", colour: "--curve-3" }]}
          values={[row(one => one.connections.current), row(one => one.connections.active)]} />
        <Chart title="Network" times={times} format={rate} curves={[{ name: "in", colour: "--curve-1" }, { name: "out", colour: "--curve-2" }]}
          values={[row(one => one.network.in), row(one => one.network.out)]} />
        <Chart title="Dedup ratio" times={times} format={toOne} curves={[{ name: "logical to stored bytes", colour: "--curve-1" }]} values={[row(one => one.ratio)]} />
      </div>
      <div class="columns">
        <Panel title="Server">
          <Facts facts={[
            ["Host", status.host], ["Palimpsest", status.palimpsestVersion], ["Speaks MongoDB", status.version], ["Up for", duration(status.uptime)],
            ["Memory", `${count(mem?.resident)} MB resident`], ["Cache limit", bytes(samples.at(-1)?.cache.limit)],
            ["Connections", `${count(connections?.current)} of ${count((connections?.current ?? 0) + (connections?.available ?? 0))}`],
            ["Disk", diskSpace && `${bytes(diskSpace.freeBytes)} free, ${diskSpace.state}`],
            ["Set", repl?.setName ? `${repl.setName}, ${repl.isWritablePrimary ? "primary" : repl.secondary ? "secondary" : "neither primary nor secondary"}` : "standalone"],
          ]} />
        </Panel>
        <Panel title="Dedup">
          <Facts facts={dedup ? [
            ["State", dedup.enabled ? `on, profile ${dedup.profile}` : "off"], ["As clients see it", bytes(dedup.logicalBytes)], ["Stored by dedup", bytes(dedup.storedBytes)],
            ["In files", bytes(dedup.fileBytes)], ["Ratio of dedup", ratio(dedup.logicalBytes, dedup.storedBytes)], ["Ratio with compression", ratio(dedup.logicalBytes, dedup.blockBytes)],
            ["Kept as deltas", `${count(dedup.deltas)} of ${count(dedup.records)}`], ["Hops of a read", dedup.hops && `mean ${figure(dedup.hops.mean)}, most ${count(dedup.hops.max)}`], ["Waiting", `${count(dedup.queue?.records)} contents`],
          ] : [["State", "this server has none"]]} />
        </Panel>
        <Panel title="Log and snapshots">
          <Facts facts={[
            ["Entries of the log", oplog && count(oplog.entries)], ["Log's size", oplog && `${bytes(oplog.storedBytes)} of ${bytes(oplog.maxBytes)}`],
            ["Oldest entry", oplog?.earliest && moment(new Date(oplog.earliest.$timestamp.t * 1000))],
            ["Declared snapshots", snapshots && count(snapshots.declared)], ["Waiting to be swept", snapshots && count(snapshots.waitToBeSwept)], ["Open cursors", count(status.cursors?.open?.total)], ["Open transactions", count(status.transactions?.currentOpen)],
          ]} />
        </Panel>
        <Panel title="Databases">
          <Failure error={databases.error} />
          <table>
            <thead><tr><th scope="col">Name</th><th scope="col" class="number">Size in files</th></tr></thead>
            <tbody>
              {(databases.value?.databases ?? []).map((one: any) => (
                <tr key={one.name}><td><a href={`#/collections?db=${encodeURIComponent(one.name)}`}>{one.name}</a></td><td class="number">{bytes(one.sizeOnDisk)}</td></tr>
              ))}
            </tbody>
          </table>
        </Panel>
      </div>
    </>
  );
}
