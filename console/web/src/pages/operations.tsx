// This page shows what runs now, and what was slow.
import { useState } from "preact/hooks";
import type { PageProps } from "../app";
import { usePoll } from "../api/poll";
import { go } from "../api/route";
import { command } from "../api/session";
import { useAsked } from "../api/use";
import { readSlow } from "../model/slow";
import { count, duration, moment } from "../model/text";
import { Empty, Failure, Field, Loading, Panel, ReadOnlyNote, WriteButton } from "../parts/basics";
import { cut } from "../parts/document";

export function Operations({ route }: PageProps) {
  const member = route.params.member ?? "";
  const [own, setOwn] = useState(false);
  const [going, setGoing] = useState(true);
  const options = member ? { member } : {};
  const now = useAsked(() => command("admin", { currentOp: 1 }, options), [member]);
  const log = useAsked(() => command("admin", { getLog: "global" }, options), [member]);
  const hosts = useAsked(() => command("admin", { hello: 1 }).then((reply): string[] => [...(reply.hosts ?? []), ...(reply.passives ?? [])]), []);
  usePoll(now.again, 2000, going);
  usePoll(log.again, 10_000, going);
  const running = (now.value?.inprog ?? []).filter((one: any) => one.type === "op" && (own || one.appName !== "palimpsest console"));
  const slow = readSlow(log.value?.log ?? []);
  return (
    <>
      <ReadOnlyNote />
      <div class="toolbar">
        {(hosts.value?.length ?? 0) > 0 && (
          <Field label="Member">
            <select value={member} onChange={event => go("operations", { member: event.currentTarget.value })}>
              <option value="">the one that is asked</option>
              {hosts.value!.map(host => <option key={host} value={host}>{host}</option>)}
            </select>
          </Field>
        )}
        <label><input type="checkbox" checked={going} onChange={event => setGoing(event.currentTarget.checked)} />Refresh every two seconds</label>
        <label><input type="checkbox" checked={own} onChange={event => setOwn(event.currentTarget.checked)} />Show the console's own</label>
      </div>
      <Failure error={now.error} />
      <Panel title="Running now">
        {!now.value && now.loading ? <Loading /> : running.length === 0 ? <Empty>Nothing runs.</Empty> : (
          <table class="hover">
            <thead>
              <tr>
                <th scope="col" class="number">Operation</th><th scope="col" class="number">Runs for</th><th scope="col">Kind</th><th scope="col">Namespace</th><th scope="col">Client</th><th scope="col">Command</th><th scope="col"><span class="hidden">End it</span></th>
              </tr>
            </thead>
            <tbody>
              {running.map((one: any) => (
                <tr key={one.opid}>
                  <td class="number">{one.opid}</td><td class="number">{duration((one.microsecs_running ?? 0) / 1e6)}</td><td>{one.op}{" "}{one.waitingForLock && <span class="badge bad">waits for a lock</span>}</td><td class="mono">{one.ns}</td>
                  <td>{one.client}<br /><span class="quiet">{one.appName ?? one.desc}</span></td>
                  <td class="mono wrap">{commandText(one.command)}{one.msg && <div class="quiet">{one.msg}{one.progress && ` ${count(one.progress.done)} of ${count(one.progress.total)}`}</div>}</td>
                  <td>{one.opid !== undefined && <WriteButton danger confirm={`End ${one.opid}?`} run={() => command("admin", { killOp: 1, op: one.opid }, options)} done={now.again}>Kill</WriteButton>}</td>
                </tr>
              ))}
            </tbody>
          </table>
        )}
      </Panel>
      <Failure error={log.error} />
      <Panel title="Slow operations in the log, newest first">
        {!log.value && log.loading ? <Loading /> : slow.length === 0 ? <Empty>The last lines of the log have no slow operation.</Empty> : (
          <table class="hover">
            <thead><tr><th scope="col">Time</th><th scope="col" class="number">Took</th><th scope="col">Namespace</th><th scope="col">Plan</th><th scope="col" class="number">Keys</th><th scope="col" class="number">Documents</th><th scope="col" class="number">Returned</th><th scope="col">Command</th></tr></thead>
            <tbody>
              {slow.slice(0, 200).map((one, at) => (
                <tr key={at}>
                  <td class="when">{moment(one.time)}</td><td class="number">{duration(one.millis / 1000)}</td><td class="mono">{one.ns}</td><td>{one.plan === "COLLSCAN" ? <span class="badge bad">{one.plan}</span> : one.plan}</td>
                  <td class="number">{count(one.keys)}</td><td class="number">{count(one.documents)}</td><td class="number">{count(one.returned)}</td><td class="mono wrap">{commandText(one.command)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        )}
      </Panel>
    </>
  );
}

// A command on one line, without what every command has.
function commandText(command: any): string {
  const { lsid: _l, $db: _d, $clusterTime: _c, $readPreference: _r, ...rest } = command ?? {};
  return cut(JSON.stringify(rest), 240);
}
