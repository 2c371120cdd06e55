// Branches in mongosh: a helper for each command, with output that can be read.
//
//   mongosh mongodb://host/shop --shell tools/palimpsest.js       or, in the shell: load("tools/palimpsest.js")
//
//   shop> db.branch("dev")
//   shop> db.at("dev").pages.updateOne({_id: 1}, {$set: {checked: true}})
//   shop> db.at("dev").commit("checked", {author: "ann"})
//   shop> db.diff("main", "dev")
//   shop> db.merge("dev")
//
// A helper returns the server's reply: `db.log()[0].commit` is still the commit's id. db.branchHelp() lists them.
(function () {
  "use strict";
  const database = Object.getPrototypeOf(db), collection = Object.getPrototypeOf(db.getCollection("c"));
  const inspect = Symbol.for("nodejs.util.inspect.custom");

  // Shown as text, and otherwise what it is.
  function readable(value, text) {
    Object.defineProperty(value, inspect, {value: () => text, enumerable: false});
    return value;
  }
  const short = id => id === undefined ? "" : id.slice(0, 12);
  const plural = (count, what) => `${count} ${what}${Number(count) === 1 ? "" : "s"}`;
  const show = value => EJSON.stringify(value, {relaxed: true});
  const escaped = ref => ref.replace(/\./g, "%2E").replace(/\//g, "%2F");
  const base = name => name.split("@")[0];
  const when = time => time.toISOString().replace("T", " ").slice(0, 19);

  function commitLines(one) {
    const lines = [`commit ${one.commit}` + (one.parents.length > 1 ? `  merge of ${one.parents.map(short).join(" ")}` : "")];
    if (one.author !== undefined) lines.push(`author ${one.author}`);
    lines.push(`time   ${when(one.time)}`);
    if (one.message) lines.push("", "    " + one.message);
    return lines;
  }

  // The paths that differ, objects within objects.
  function changed(before, after, path, out) {
    for (const name of new Set([...Object.keys(before), ...Object.keys(after)])) {
      const a = before[name], b = after[name], here = path + name;
      if (show({v: a}) === show({v: b})) continue;
      const inside = value => Object.prototype.toString.call(value) === "[object Object]" && value._bsontype === undefined;
      if (inside(a) && inside(b)) changed(a, b, here + ".", out);
      else out.push(`${here}: ${a === undefined ? "none" : show(a)} -> ${b === undefined ? "none" : show(b)}`);
    }
    return out;
  }

  function diffText(all) {
    const lines = [];
    let name;
    for (const one of all) {
      if (one.collection !== name) lines.push(name = one.collection);
      if (one.tooLarge) lines.push(`  ${{insert: "+", update: "~", delete: "-"}[one.change]} ${show(one._id)}  too large to show`);
      else if (one.change === "insert") lines.push(`  + ${show(one.after)}`);
      else if (one.change === "delete") lines.push(`  - ${show(one.before)}`);
      else lines.push(`  ~ ${show(one._id)}  ` + changed(one.before, one.after, "", []).join(", "));
    }
    return all.length === 0 ? "no difference" : lines.join("\n");
  }

  function listText(names) {
    const width = Math.max(0, ...names.map(one => one.name.length));
    return names.map(one => `${one.name.padEnd(width)}  ${short(one.commit)}  ${when(one.time)}`).join("\n");
  }

  const helpers = {
    at: ["at(ref)", "the database as a branch, tag or commit shows it", function (ref) {
      return this.getSiblingDB(`${base(this.getName())}@${escaped(ref)}`);
    }],
    branch: ["branch(name, {from})", "makes a branch", function (name, options) {
      const made = this.runCommand({createBranch: name, ...options});
      return readable(made, `branch ${made.branch} at ${short(made.commit)}` + (made.uncommitted ? "; what is not committed stays where it is" : ""));
    }],
    branches: ["branches()", "the branches there are", function () {
      const all = list(this, {listBranches: 1});
      return readable(all, listText(all));
    }],
    dropBranch: ["dropBranch(name, {force})", "takes a branch away", function (name, options) {
      return readable(this.runCommand({dropBranch: name, ...options}), `branch ${name} is gone`);
    }],
    renameBranch: ["renameBranch(name, to)", "gives a branch another name", function (name, to) {
      return readable(this.runCommand({renameBranch: name, to}), `branch ${name} is ${to}`);
    }],
    resetBranch: ["resetBranch(name, to, {force})", "lets a branch go on from another commit", function (name, to, options) {
      const done = this.runCommand({resetBranch: name, to, ...options});
      return readable(done, `branch ${name} at ${short(done.commit)}`);
    }],
    tag: ["tag(name, {from})", "names a commit", function (name, options) {
      const made = this.runCommand({createTag: name, ...options});
      return readable(made, `tag ${made.tag} at ${short(made.commit)}`);
    }],
    tags: ["tags()", "the tags there are", function () {
      const all = list(this, {listTags: 1});
      return readable(all, listText(all));
    }],
    dropTag: ["dropTag(name)", "takes a tag away", function (name) {
      return readable(this.runCommand({dropTag: name}), `tag ${name} is gone`);
    }],
    commit: ["commit(message, {author})", "makes what was written since the last commit a state that stays", function (message, options) {
      const done = this.runCommand({commit: 1, ...(message === undefined ? {} : {message}), ...options});
      return readable(done, done.changed ? `${done.branch} at ${short(done.commit)}` : `nothing to commit on ${done.branch}, at ${short(done.commit)}`);
    }],
    status: ["status()", "what is not committed", function () {
      const said = this.runCommand({status: 1});
      const lines = [`${said.branch === undefined ? "read-only" : "on branch " + said.branch}, at ${short(said.commit)}`];
      if (said.clean) lines.push("nothing to commit");
      for (const one of said.collections) lines.push(`  ${one.name}: ${one.created ? "created, " : ""}${one.dropped ? "dropped, " : ""}${one.inserted} inserted, ${one.modified} modified, ${one.deleted} deleted`);
      if (said.merging !== undefined) lines.push(`${said.merging.kind} of ${said.merging.from} waits: db.listConflicts()`);
      return readable(said, lines.join("\n"));
    }],
    log: ["log({limit, filter, touching: {coll, _id or filter}})", "the commits this comes from, newest first", function (options) {
      const all = list(this, {log: 1, ...options});
      return readable(all, all.map(one => commitLines(one).join("\n")).join("\n\n"));
    }],
    diff: ["diff(from, to, {collection, filter, format})", "what two states show differently; without them what is not committed", function (from, to, options) {
      const all = list(this, {diff: 1, ...(from === undefined ? {} : {from}), ...(to === undefined ? {} : {to}), ...options});
      if (options?.format === "lines") return readable(all, all.map(one => one.line).join("\n"));
      if (options?.format === "jsonPatch") return readable(all, all.map(one => EJSON.stringify(one, {relaxed: false})).join("\n"));
      return readable(all, diffText(all));
    }],
    merge: ["merge(from, {mode, resolve, paths, collections, into, branch, squash, dryRun, message, author})", "applies what another branch, tag or commit has changed", function (from, options) {
      return mergeText(this.runCommand({merge: from, ...options}), `merged ${from}`, `nothing to merge from ${from}`);
    }],
    cherryPick: ["cherryPick(commit, {as merge, without into})", "applies what one commit has changed", function (commit, options) {
      return mergeText(this.runCommand({cherryPick: commit, ...options}), `picked ${commit}`, `nothing to pick from ${commit}`);
    }],
    revert: ["revert(commit, {as merge, without into})", "takes back what one commit has changed", function (commit, options) {
      return mergeText(this.runCommand({revert: commit, ...options}), `took back ${commit}`, `nothing to take back of ${commit}`);
    }],
    rebase: ["rebase(onto, {mode, resolve, paths, collections})", "picks the branch's commits one by one onto another state", function (onto, options) {
      const done = this.runCommand({rebase: onto, ...options});
      return mergeText(done, `picked ${plural(done.picked, "commit")}`, `on top of ${onto} already`);
    }],
    squash: ["squash(since, {message, author})", "makes one commit of all that the branch has committed since", function (since, options) {
      return mergeText(this.runCommand({squash: since, ...options}), "squashed", `nothing came after ${since}`);
    }],
    stash: ["stash(message, {author})", "puts aside what isn't committed on the branch", function (message, options) {
      const done = this.runCommand({stash: 1, ...(message === undefined ? {} : {message}), ...options});
      return readable(done, done.changed ? `stash ${show(done.stash)}: ${short(done.commit)}` : "everything is committed");
    }],
    stashes: ["stashes()", "what was put aside, the newest first", function () {
      const all = list(this, {listStashes: 1});
      return readable(all, all.length === 0 ? "no stash" : all.map(one => `${show(one.stash)}  on ${one.branch}  ${one.message ?? ""}`).join("\n"));
    }],
    stashApply: ["stashApply(number, {mode, resolve, paths, collections})", "applies a stash's changes to the branch; without a number, the newest's", function (number, options) {
      return applyStash(this, "stashApply", number, options);
    }],
    stashPop: ["stashPop(number, {as stashApply})", "does the same, and drops the stash", function (number, options) {
      return applyStash(this, "stashPop", number, options);
    }],
    applyPatch: ["applyPatch(changes, {mode, resolve, paths, collections, dryRun})", "applies the changes of a diff to the branch, not committed", function (changes, options) {
      const done = this.runCommand({applyPatch: 1, changes, ...options});
      return withConflicts(done, `${show(done.inserted)} inserted, ${show(done.modified)} updated, ${show(done.deleted)} deleted`, "nothing new");
    }],
    commitValidator: ["commitValidator({collection: {validator, pipeline}})", "what commits must fulfil from now on; without it, now", function (validators) {
      const said = this.runCommand({commitValidator: validators === undefined ? 1 : validators});
      return readable(said, Object.keys(said.validators).length === 0 ? "commits must fulfil nothing" : show(said.validators));
    }],
    dropStash: ["dropStash(number)", "forgets a stash", function (number) {
      return readable(this.runCommand({dropStash: number}), `stash ${show(number)} is gone`);
    }],
    addRemote: ["addRemote(name, uri)", "names a database of another server", function (name, uri) {
      return readable(this.runCommand({addRemote: name, uri}), `remote ${name}`);
    }],
    removeRemote: ["removeRemote(name)", "forgets it", function (name) {
      return readable(this.runCommand({removeRemote: name}), `remote ${name} is gone`);
    }],
    remotes: ["remotes()", "the databases of other servers, and what they had when they were fetched", function () {
      const all = list(this, {listRemotes: 1});
      return readable(all, all.map(one => [`${one.name}  ${one.uri}`, ...one.refs.map(ref => `  ${ref.name}  ${short(ref.commit)}`)].join("\n")).join("\n"));
    }],
    fetch: ["fetch(remote, {refs})", "brings commits from another server", function (remote, options) {
      const done = this.runCommand({fetch: remote, ...options});
      return readable(done, [plural(done.made, "new commit"), ...done.refs.map(ref => `  ${ref.name}  ${short(ref.commit)}`)].join("\n"));
    }],
    push: ["push(remote, {branch, tag, force})", "brings commits to another server, and moves a branch there", function (remote, options) {
      const done = this.runCommand({push: remote, ...options});
      return readable(done, `${done.branch ?? done.tag} is ${done.change} at ${short(done.commit)}; sent ${plural(done.sent, "commit")}, ${plural(done.bytes, "byte")}`);
    }],
    pull: ["pull(remote, {branch, as merge})", "fetches a branch of another server and merges it", function (remote, options) {
      const done = this.runCommand({pull: remote, ...options});
      return mergeText(done, done.fastForward ? "went forward" : `merged what ${remote} has`, `${remote} has nothing new`);
    }],
    listConflicts: ["listConflicts()", "what is to be decided in the merge that waits, and what has been", function () {
      const all = list(this, {listConflicts: 1});
      return readable(all, all.length === 0 ? "no conflict" : all.map(conflictLine).join("\n"));
    }],
    resolveConflict: ["resolveConflict(collection, id, take)", "decides one: \"ours\", \"theirs\", \"base\", or a document", function (name, id, take) {
      const done = this.runCommand({resolveConflict: 1, collection: name, _id: id, ...(typeof take === "string" ? {take} : {document: take})});
      return readable(done, `${name} ${show(id)}: ${done.resolved}`);
    }],
    continueMerge: ["continueMerge({message, author})", "merges what waits, all being decided", function (options) {
      return mergeText(this.runCommand({continueMerge: 1, ...options}), "merged", "nothing to merge");
    }],
    abortMerge: ["abortMerge()", "forgets the merge that waits", function () {
      return readable(this.runCommand({abortMerge: 1}), "the branch is as it was");
    }],
    retention: ["retention({newest, youngerThanSeconds})", "which commits stay, from now on; without it, now", function (policy) {
      const said = this.runCommand({retention: policy === undefined ? 1 : policy});
      const stay = [];
      if (said.newest !== undefined) stay.push(`the newest ${show(said.newest)} of each branch`);
      if (said.youngerThanSeconds !== undefined) stay.push(`those younger than ${plural(show(said.youngerThanSeconds), "second")}`);
      return readable(said, (stay.length === 0 ? "all commits" : stay.join(" and ")) + " stay");
    }],
    getProof: ["getProof(collection, id, {save: path})", "that a document is in the commit, or isn't; saved, for tools/verify_proof", function (name, id, options) {
      const said = this.runCommand({getProof: 1, coll: name, _id: id});
      const bytes = said.proof.length();
      if (options !== undefined && options.save !== undefined) require("fs").writeFileSync(options.save, said.proof.buffer.subarray(0, bytes));
      const what = !said.present ? "not there" : said.purged ? `there, erased since: ${short(said.hash)}` : `there: ${short(said.hash)}`;
      return readable(said, `${name} ${show(id)} at ${short(said.commit)}: ${what}; a proof of ${bytes} bytes`);
    }],
    verify: ["verify({deep})", "whether what is stored of the commit is what its id says", function (options) {
      const said = this.runCommand({verify: 1, ...options});
      const lines = [`commit ${short(said.commit)} is ${said.valid ? "whole" : "damaged: " + plural(said.damageCount, "place")}`];
      for (const one of said.collections) {
        if (!one.said) lines.push(`  ${one.name}: its id says nothing of it`);
        else lines.push(`  ${one.name}: root ${short(one.root)}, ${plural(one.nodes, "node")}` + (said.deep ? `, ${plural(one.documents, "document")}` : "") + " read");
      }
      for (const one of said.damage) {
        const where = one.node !== undefined ? `node ${short(one.node)}` : one._id !== undefined ? show(one._id) : one.key !== undefined ? `key ${one.key}` : "";
        lines.push("  ! " + [one.collection, where].filter(Boolean).join(" ") + `: ${one.what}`);
      }
      return readable(said, lines.join("\n"));
    }],
    sweep: ["sweep()", "drops the commits that need not stay", function () {
      const swept = this.runCommand({sweep: 1});
      return readable(swept, `${plural(swept.commits, "commit")} dropped, ${plural(swept.versions, "version")} freed`);
    }],
    purge: ["purge(collection, id)", "erases a document from all branches and commits; there is no way back", function (name, id) {
      const done = this.runCommand({purge: name, _id: id});
      return readable(done, `${plural(done.versions, "version")} erased`);
    }],
    history: ["history(collection, id)", "all versions of a document, newest first", function (name, id) {
      return this.getCollection(name).history(id);
    }],
    blame: ["blame(collection, id)", "the commit that each field of a document came with", function (name, id) {
      const all = list(this, {blame: name, id});
      return readable(all, all.map(one => `${one.commit === undefined ? "not committed" : [short(one.commit), one.author, one.message].filter(Boolean).join("  ")}  ${one.path}`).join("\n"));
    }],
    snapshot: ["snapshot(name)", "declares a snapshot of the whole server: db.at(name) is the database as it is now", function (name) {
      const made = this.runCommand({createSnapshot: 1, ...(name === undefined ? {} : {name})});
      return readable(made, `snapshot ${made.snapshot}, ${made.time.toISOString()}`);
    }],
    snapshots: ["snapshots()", "the snapshots there are", function () {
      const all = list(this, {listSnapshots: 1});
      return readable(all, all.map(one => `${one.snapshot}  ${one.time.toISOString()}`).join("\n"));
    }],
    dropSnapshot: ["dropSnapshot(name)", "forgets a snapshot", function (name) {
      return readable(this.runCommand({dropSnapshot: name}), `snapshot ${name} is gone`);
    }],
    versionStats: ["versionStats({perBranch})", "what branches, commits and versions there are, and what they take", function (options) {
      return this.runCommand({versionStats: 1, ...options});
    }],
  };

  const ofCollections = {
    history: ["history(id)", "all versions of a document, newest first", function (id) {
      const all = this.aggregate([{$history: {_id: id}}]).toArray();
      return readable(all, all.map(one => [...(one.commit === undefined ? [`not committed, on ${one.branch}`] : commitLines(one)), "    " + show(one.document)].join("\n")).join("\n\n"));
    }],
    diff: ["diff(from, to, {fields})", "what two states show differently of the collection", function (from, to, options) {
      const what = {...(from === undefined ? {} : {from}), ...(to === undefined ? {} : {to}), ...options};
      const all = this.aggregate([{$diff: what}]).toArray();
      return readable(all, diffText(all));
    }],
    acrossBranches: ["acrossBranches({branches, as})", "every version once, with the branches that it lives in", function (options) {
      return this.aggregate([{$acrossBranches: options === undefined ? {} : options}]);
    }],
  };

  function applyStash(db, command, number, options) {
    if (number === undefined) number = list(db, {listStashes: 1})[0]?.stash ?? 1;
    const done = db.runCommand({[command]: number, ...options});
    return withConflicts(done, `stash ${show(number)} is on ${done.branch}, not committed`, "nothing new");
  }

  // Returns the text of a reply to merge, cherryPick or revert.
  function mergeText(done, changed, nothing) {
    return withConflicts(done, `${changed}, at ${short(done.commit)}`, nothing);
  }

  // Returns the text of a reply that has conflicts, or says whether something changed.
  function withConflicts(done, changed, nothing) {
    const conflicts = done.conflicts === undefined ? [] : done.conflicts;
    const head = conflicts.length > 0 ? plural(done.conflictCount, "conflict") + (done.merging ? " to decide" : "") : done.changed ? changed : nothing;
    return readable(done, [head, ...conflicts.map(conflictLine)].join("\n"));
  }

  function conflictLine(one) {
    const where = `  ${one.collection} ${show(one._id)}: `;
    if (one.resolved !== undefined) return `${where}decided, ${one.resolved}`;
    if (one.index !== undefined) return `${where}${show(one.key)} of index ${one.index} is ${show(one.other)}'s too`;
    return where + (one.paths === undefined || one.paths.length === 0 ? "the whole document" : one.paths.join(", "));
  }

  // Everything that a command hands out through a cursor.
  function list(from, command) {
    const first = from.runCommand(command).cursor, all = [...first.firstBatch];
    for (let id = first.id; show(id) !== "0";) {
      const more = from.runCommand({getMore: id, collection: first.ns.slice(first.ns.indexOf(".") + 1)}).cursor;
      all.push(...more.nextBatch);
      id = more.id;
    }
    return all;
  }

  for (const [name, [, , run]] of Object.entries(helpers)) database[name] = run;
  for (const [name, [, , run]] of Object.entries(ofCollections)) collection[name] = run;
  database.branchHelp = function () {
    const all = [...Object.values(helpers).map(one => ["db." + one[0], one[1]]), ...Object.values(ofCollections).map(one => ["db.<collection>." + one[0], one[1]])];
    const width = Math.max(...all.map(one => one[0].length));
    return readable(all.map(one => one[0]), all.map(one => `${one[0].padEnd(width)}  ${one[1]}`).join("\n"));
  };
})();
