// Several histories, each newest first, read as one.
import { childrenFirst, type Commit } from "./lanes";

export interface Dated extends Commit {
  time: Date;
}

// A Stream hands out a history in batches, as a cursor does.
export interface Stream<T> {
  first: T[];
  readonly more: boolean;
  next(): Promise<T[]>;
  close(): void;
}

// Merges by time, newest first, and leaves out what came before: branches share most of their commits. Children come before their
// parents, also where they have the same millisecond.
export class MergedHistory<T extends Dated> implements Stream<T> {
  private heads: { stream: Stream<T>; items: T[]; at: number }[];
  private seen = new Set<string>();
  first: T[] = [];

  private constructor(streams: Stream<T>[]) {
    this.heads = streams.map(stream => ({ stream, items: stream.first, at: 0 }));
  }

  static async open<T extends Dated>(streams: Stream<T>[]): Promise<MergedHistory<T>> {
    const merged = new MergedHistory(streams);
    merged.first = await merged.next();
    return merged;
  }

  get more(): boolean {
    return this.heads.some(head => head.at < head.items.length || head.stream.more);
  }

  // Returns at least `count` commits, unless there are no more: those of one moment stay together.
  async next(count = 1000): Promise<T[]> {
    const found: T[] = [];
    let moment: T[] = [];
    for (;;) {
      await this.fill();
      let newest: (typeof this.heads)[number] | undefined;
      for (const head of this.heads) if (head.at < head.items.length && (!newest || time(head) > time(newest))) newest = head;
      const one = newest?.items[newest.at];
      if (!one || (moment.length > 0 && one.time.getTime() !== moment[0]!.time.getTime())) {
        found.push(...childrenFirst(moment));
        moment = [];
        if (!one || found.length >= count) return found;
      }
      newest!.at++;
      if (this.seen.has(one.commit)) continue;
      this.seen.add(one.commit);
      moment.push(one);
    }
  }

  close(): void {
    for (const head of this.heads) head.stream.close();
  }

  // Every stream that has more must show what comes next: it might be the newest.
  private async fill(): Promise<void> {
    const empty = this.heads.filter(head => head.at >= head.items.length && head.stream.more);
    if (empty.length === 0) return;
    await Promise.all(empty.map(async head => {
      head.items = await head.stream.next();
      head.at = 0;
    }));
    await this.fill();
  }
}

const time = (head: { items: Dated[]; at: number }): number => head.items[head.at]!.time.getTime();
