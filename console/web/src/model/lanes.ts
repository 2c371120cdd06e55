// Lanes: where the lines of a history run beside each other.
//
// Commits come newest first. A lane is a column that waits for one commit: the parent of one that was drawn above. Each row knows the
// lanes that pass by, those that end in its dot, and those that leave it:
//
//   ●      a lane begins at a branch's last commit
//   │ ●    another branch: the first lane passes by
//   ● │    … and goes on to its parent
//   ├─╯    both wait for this commit: the second lane ends in it
//
export interface Commit {
  commit: string;
  parents: string[];
}

export interface Row {
  column: number;  // of the dot
  through: number[];  // lanes that pass by
  above: number[];  // lanes that come from above into the dot
  below: number[];  // lanes that the dot's parents are waited for in
  width: number;  // lanes at this row
}

export class Lanes {
  private waiting: (string | undefined)[] = [];
  private drawn = new Set<string>();

  // Places the next commit. A parent that was drawn before its child, as equal times permit, gets no line.
  add(one: Commit): Row {
    const above = this.waiting.flatMap((id, lane) => (id === one.commit ? [lane] : []));
    const column = above[0] ?? this.free();
    for (const lane of above) this.waiting[lane] = undefined;
    const through = this.waiting.flatMap((id, lane) => (id === undefined ? [] : [lane]));
    this.drawn.add(one.commit);
    const widthAbove = Math.max(column + 1, ...[...above, ...through].map(lane => lane + 1));

    const below: number[] = [];
    one.parents.forEach((parent, place) => {
      if (this.drawn.has(parent)) return;
      let lane = this.waiting.indexOf(parent);
      if (lane < 0) {
        lane = place === 0 && this.waiting[column] === undefined ? column : this.free();
        this.waiting[lane] = parent;
      }
      if (!below.includes(lane)) below.push(lane);
    });
    while (this.waiting.length > 0 && this.waiting[this.waiting.length - 1] === undefined) this.waiting.pop();
    return { column, through, above, below, width: Math.max(widthAbove, this.waiting.length) };
  }

  // The leftmost one: lanes that ended are used again, so that a long history stays narrow.
  private free(): number {
    for (let lane = 0; lane < this.waiting.length; lane++) if (this.waiting[lane] === undefined) return lane;
    return this.waiting.length;
  }
}

// Orders commits of one moment so that children come before their parents.
export function childrenFirst<T extends Commit>(commits: T[]): T[] {
  if (commits.length < 2) return commits;
  const byId = new Map(commits.map(one => [one.commit, one]));
  const done = new Set<string>(), parentsFirst: T[] = [];
  // A stack of its own: a history of one moment may be thousands of commits deep.
  for (const start of [...commits].reverse()) {
    const stack: [T, number][] = [[start, 0]];
    while (stack.length > 0) {
      const top = stack[stack.length - 1]!;
      const [one, next] = top;
      if (next === 0 && done.has(one.commit)) {
        stack.pop();
        continue;
      }
      done.add(one.commit);
      const parent = one.parents[next];
      if (parent === undefined) {
        parentsFirst.push(one);
        stack.pop();
      } else {
        top[1] = next + 1;
        const found = byId.get(parent);
        if (found && !done.has(parent)) stack.push([found, 0]);
      }
    }
  }
  return parentsFirst.reverse();
}
