// The members of the replica set, as the member says that the connection string leads to.
import type { PageProps } from "../app";
import { usePoll } from "../api/poll";
import { to } from "../api/route";
import { command, ServerError } from "../api/session";
import { useAsked } from "../api/use";
import { count, duration, moment } from "../model/text";
import { Empty, Facts, Failure, Loading, Panel } from "../parts/basics";

const notASet = 76;

export function Members(_: PageProps) {
  const found = useAsked(async () => {
    const [status, config] = await Promise.all([command("admin", { replSetGetStatus: 1 }), command("admin", { replSetGetConfig: 1 })]);
    return { status, config: config.config };
  }, []);
  usePoll(found.again, 2000);
  if (found.error) return found.error instanceof ServerError && found.error.code === notASet ? <Empty>The server isn't a member of a replica set.</Empty> : <Failure error={found.error} />;
  if (!found.value) return <Loading />;
  const { status, config } = found.value;
  const optime = (member: any): number => Date.parse(member.optimeDate?.$date ?? "");
  const newest = Math.max(...status.members.map(optime).filter((one: number) => !Number.isNaN(one)));
  const configured = new Map<number, any>(config.members.map((one: any) => [one._id, one]));
  return (
    <>
      <Panel title={`Members of ${status.set}`}>
        <table class="hover">
          <thead>
            <tr>
              <th scope="col">Member</th><th scope="col">State</th><th scope="col">Health</th><th scope="col" class="number">Behind</th><th scope="col" class="number">Ping</th><th scope="col">Follows</th>
              <th scope="col">Last entry</th><th scope="col" class="number">Up for</th><th scope="col" class="number">Priority</th><th scope="col" class="number">Votes</th><th scope="col">Remarks</th><th scope="col"><span class="hidden">Look at</span></th>
            </tr>
          </thead>
          <tbody>
            {status.members.map((member: any) => {
              const settings = configured.get(member._id) ?? {};
              return (
                <tr key={member._id} class={member.self ? "selected" : ""}>
                  <td>{member.name}{" "}{member.self && <span class="badge branch">answers here</span>}</td>
                  <td><span class={`badge ${member.stateStr === "PRIMARY" || member.stateStr === "SECONDARY" || member.stateStr === "ARBITER" ? "good" : "bad"}`}>{member.stateStr}</span></td>
                  <td>{member.health === 1 ? "reachable" : <span class="badge bad">unreachable</span>}</td>
                  <td class="number">{Number.isNaN(optime(member)) || member.health !== 1 ? "–" : duration((newest - optime(member)) / 1000)}</td>
                  <td class="number">{member.pingMs === undefined ? "–" : `${count(member.pingMs)} ms`}</td><td>{member.syncSourceHost}</td>
                  <td class="when">{moment(new Date(optime(member)))}</td><td class="number">{duration(member.uptime)}</td><td class="number">{count(settings.priority)}</td><td class="number">{count(settings.votes)}</td>
                  <td class="quiet">{[settings.hidden && "hidden", settings.arbiterOnly && "arbiter", member.lastHeartbeatMessage, member.infoMessage].filter(Boolean).join(", ")}</td>
                  <td><a href={to("operations", { member: member.name })}>operations</a></td>
                </tr>
              );
            })}
          </tbody>
        </table>
      </Panel>
      <div class="columns">
        <Panel title="Set">
          <Facts facts={[
            ["Term", count(status.term)], ["Configuration", `version ${count(config.version)}`], ["Majority to write", count(status.writeMajorityCount)], ["Majority to vote", count(status.majorityVoteCount)],
            ["Members that vote", count(status.votingMembersCount)], ["Majority-committed at", moment(new Date(status.optimes?.lastCommittedWallTime?.$date), true)],
          ]} />
        </Panel>
        <Panel title="Elections">
          <Facts facts={[
            ["Last election", status.electionCandidateMetrics?.lastElectionDate && moment(new Date(status.electionCandidateMetrics.lastElectionDate.$date))], ["Its reason", status.electionCandidateMetrics?.lastElectionReason],
            ["Heartbeats", status.heartbeatIntervalMillis && `every ${count(status.heartbeatIntervalMillis)} ms`], ["Election timeout", config.settings?.electionTimeoutMillis && `${count(config.settings.electionTimeoutMillis)} ms`],
          ]} />
        </Panel>
      </div>
    </>
  );
}
