// Several pages ask a database for these: its states, and its collections.
import { all, command } from "./session";
import { databaseAt } from "../model/states";

export interface Named {
  name: string;
  commit: string;
  time: Date;
}
export interface Snapshot {
  name: string;  // as it is called
  number: number;
  time: Date;
}
export interface States {
  branches: Named[];  // none: the database has no branches yet
  tags: Named[];
  snapshots: Snapshot[];
}

const date = (value: any): Date => new Date(value?.$date);

// A server without branches in the database refuses none of these; other servers do, and then there are none.
export async function states(db: string): Promise<States> {
  const list = async (name: string) => all(db, { [name]: 1 }).catch(() => []);
  const [branches, tags, snapshots] = await Promise.all([list("listBranches"), list("listTags"), list("listSnapshots")]);
  const named = (one: any): Named => ({ name: one.name, commit: one.commit, time: date(one.time) });
  return {
    branches: branches.map(named).sort((a, b) => Number(b.name === "main") - Number(a.name === "main")),
    tags: tags.map(named),
    snapshots: snapshots.map((one: any) => ({ name: one.snapshot, number: one.number, time: date(one.time) })),
  };
}

export interface CollectionInfo {
  name: string;
  type: string;
  uuid?: string;  // in base64
}

export async function collections(db: string, state: string): Promise<CollectionInfo[]> {
  const found = await all(databaseAt(db, state), { listCollections: 1, cursor: { batchSize: 1000 } });
  return found
    .map((one: any) => ({ name: one.name, type: one.type, uuid: one.info?.uuid?.$binary?.base64 }))
    .sort((a, b) => Number(a.name.startsWith("system.")) - Number(b.name.startsWith("system.")) || a.name.localeCompare(b.name));
}

export async function databases(): Promise<string[]> {
  const reply = await command("admin", { listDatabases: 1, nameOnly: true });
  return reply.databases.map((one: any) => one.name);
}
