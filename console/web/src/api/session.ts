// The page asks the console by these functions: what it may do, for commands, and for cursors.
import type { Value } from "../model/values";

export interface Session {
  csrf: string;
  writes: boolean;  // whether the console was started with --write
  hosts: string;
  database: string;  // of the connection string; "" where it names none
}

export let session: Session;

// The server, or the console, refused a command with this error.
export class ServerError extends Error {
  constructor(message: string, readonly code: number, readonly codeName: string, readonly reply: any) {
    super(message);
  }
}

export async function begin(): Promise<void> {
  const reply = await fetch("/session");
  if (!reply.ok) throw new ServerError("The console doesn't know this browser any more: open the address that it has printed.", 13, "Unauthorized", {});
  session = await reply.json();
}

async function post(path: string, body: unknown, signal?: AbortSignal): Promise<any> {
  let answer: Response;
  try {
    answer = await fetch(path, {
      method: "POST",
      headers: { "Content-Type": "application/json", "X-Console-Csrf": session.csrf },
      body: JSON.stringify(body),
      ...(signal ? { signal } : {}),
    });
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new ServerError("The console doesn't answer. Was it ended?", 6, "HostUnreachable", {});
  }
  if (answer.status === 401) throw new ServerError("The console was started anew: open the address that it has printed.", 13, "Unauthorized", {});
  const reply = await answer.json();
  const ok = typeof reply.ok === "object" ? Number(reply.ok.$numberDouble ?? reply.ok.$numberInt) : reply.ok;
  if (ok !== 1) {
    const code = typeof reply.code === "object" ? Number(reply.code.$numberInt) : reply.code;
    throw new ServerError(reply.errmsg, code, reply.codeName ?? `error ${code}`, reply);
  }
  return reply;
}

export interface Options {
  texts?: Record<string, string>;  // arguments as somebody typed them
  member?: string;  // "host:port" of the member to ask
  canonical?: boolean;  // numbers keep their types
  signal?: AbortSignal;
}

// Returns the reply. Throws ServerError.
export function command(db: string, what: Record<string, unknown>, options: Options = {}): Promise<any> {
  const { signal, canonical, ...rest } = options;
  return post("/command", { db, command: what, ...rest, json: canonical ? "canonical" : "relaxed" }, signal);
}

// A Cursor returns a command's documents batch by batch. One batch is read at a time.
export class Cursor<T = any> {
  private constructor(private handle: string, private canonical: boolean, public first: T[]) {}

  static async open<T = any>(db: string, what: Record<string, unknown>, options: Options = {}): Promise<Cursor<T>> {
    const { cursor } = await command(db, what, options);
    return new Cursor<T>(cursor.id, options.canonical ?? false, cursor.firstBatch);
  }

  get more(): boolean {
    return this.handle !== "";
  }

  async next(batchSize = 200): Promise<T[]> {
    if (!this.more) return [];
    const { cursor } = await post("/next", { cursor: this.handle, batchSize, json: this.canonical ? "canonical" : "relaxed" });
    this.handle = cursor.id;
    return cursor.nextBatch;
  }

  close(): void {
    if (this.more) void post("/close", { cursor: this.handle }).catch(() => undefined);
    this.handle = "";
  }
}

// Everything that a cursor returns, for lists that are short by nature: branches, tags, snapshots, collections.
export async function all<T = any>(db: string, what: Record<string, unknown>, options: Options = {}): Promise<T[]> {
  const cursor = await Cursor.open<T>(db, what, options);
  const found = cursor.first;
  while (cursor.more) found.push(...(await cursor.next(1000)));
  return found;
}

export type { Value };
