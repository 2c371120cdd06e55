// Opens every page of a running console in a real browser and does what people do there. Ends with 1, and says why, where something isn't as
// it should be: also where the browser logged an error, or axe finds that somebody with a screen reader or a keyboard is shut out.
//
//   node pages.mjs BROWSER ADDRESS READER PICTURES [FOLDER]
//
// READER is the address of a console that only reads. PICTURES is a file with a small picture of each page, with which the pages are
// compared; PALIMPSEST_NEW_PICTURES=1 writes it anew. FOLDER is where screenshots go.
//
// tests/console/console_pages_test.py starts it, and says which data there must be.
import assert from "node:assert/strict";
import fs from "node:fs";
import { chromium } from "playwright-core";

const [program, address, reader, pictures, folder] = process.argv.slice(2);
const axe = fs.readFileSync(new URL(import.meta.resolve("axe-core/axe.min.js")), "utf8");
let origin = new URL(address).origin;
const deadline = 30_000;

const browser = await chromium.launch({ executablePath: program, args: ["--no-sandbox", "--disable-dev-shm-usage"] });
const context = await browser.newContext({ viewport: { width: 1360, height: 860 }, colorScheme: "light", acceptDownloads: true });
context.setDefaultTimeout(deadline);
const page = await context.newPage();

// A refusal that a step provokes is logged by the browser, too.
let expected = 0;
const errors = [];
page.on("console", message => {
  if (message.type() !== "error") return;
  if (expected > 0 && message.text().startsWith("Failed to load resource")) expected--;
  else errors.push(message.text());
});
page.on("pageerror", error => errors.push(error.stack ?? error.message));
page.on("requestfailed", request => request.failure()?.errorText !== "net::ERR_ABORTED" && errors.push(`${request.url()}: ${request.failure()?.errorText}`));

// Waits until an expression is true on the page. (The library's own way to wait needs what the page's policy forbids.)
const until = async expression => {
  for (const end = Date.now() + deadline; !(await page.evaluate(expression)); await page.waitForTimeout(50)) assert.ok(Date.now() < end, `never true: ${expression}`);
};
const at = async hash => {
  await page.goto(`${origin}/#/${hash}`);
  await page.locator("h1").waitFor();
};
const shows = (text, where = page) => where.getByText(text).first().waitFor();
const status = (text, where = page) => where.getByRole("status").filter({ hasText: text }).first().waitFor();
const button = (name, where = page) => where.getByRole("button", { name, exact: true });
const choose = (label, value) => page.getByLabel(label, { exact: true }).selectOption(value);
const list = label => page.getByRole("listbox", { name: label });
const detail = label => page.getByLabel(label, { exact: true });

// --- pictures
// A page is compared by the brightness of 40 by 25 parts of its screenshot. Times, ids and the fonts of another machine change
// such a part a little; what is missing, covered, or without its style changes many.
const known = process.env.PALIMPSEST_NEW_PICTURES ? {} : JSON.parse(fs.readFileSync(pictures, "utf8"));
const drawn = {};
const canvas = await (await browser.newContext()).newPage();

async function brightness(screenshot) {
  const values = await canvas.evaluate(async data => {
    const width = 40, height = 25;
    const bytes = Uint8Array.from(atob(data), one => one.charCodeAt(0));
    const small = await createImageBitmap(new Blob([bytes], { type: "image/png" }), { resizeWidth: width, resizeHeight: height, resizeQuality: "high" });
    const context = new OffscreenCanvas(width, height).getContext("2d");
    context.drawImage(small, 0, 0);
    const { data: rgba } = context.getImageData(0, 0, width, height);
    return Array.from({ length: width * height }, (_, i) => Math.round(0.3 * rgba[4 * i] + 0.59 * rgba[4 * i + 1] + 0.11 * rgba[4 * i + 2]));
  }, screenshot.toString("base64"));
  return Buffer.from(values);
}

// How much two pictures differ: on average, and in how many parts much.
function difference(a, b) {
  const differences = Array.from(a, (value, i) => Math.abs(value - b[i]));
  return { mean: differences.reduce((sum, one) => sum + one, 0) / a.length, much: differences.filter(one => one > 40).length };
}

// What these show depends on how busy the machine is.
const unsteady = ["overview", "operations", "members"];

async function looks(name) {
  if (unsteady.some(one => name.startsWith(one))) return;
  const seen = await brightness(await page.screenshot());
  drawn[name] = seen.toString("base64");
  if (process.env.PALIMPSEST_NEW_PICTURES) return;
  assert.ok(known[name], `there is no picture of ${name}`);
  const { mean, much } = difference(seen, Buffer.from(known[name], "base64"));
  if (process.env.PALIMPSEST_SCREENSHOTS) console.log(`picture of ${name}: ${mean.toFixed(1)} on average, ${much} parts by much`);
  assert.ok(mean < 5 && much < 40, `${name} doesn't look as in ${pictures}: parts differ by ${mean.toFixed(1)} on average, and ${much} of ${seen.length} by much`);
}

// Nobody is shut out, in either theme.
async function accessible(name) {
  for (const theme of ["light", "dark"]) {
    await page.emulateMedia({ colorScheme: theme });
    await page.locator(`html[data-theme=${theme}]`).waitFor({ state: "attached" });
    if (folder) await page.screenshot({ path: `${folder}/${name}-${theme}.png` });
    await looks(`${name}, ${theme}`);
    // The page's policy lets no script in but the page's own; the browser's debugger is no part of the page.
    if (!(await page.evaluate("typeof axe !== 'undefined'"))) await page.evaluate(axe);
    // The themes differ in their colours alone.
    const only = theme === "dark" ? ", runOnly: ['color-contrast']" : "";
    const { violations } = await page.evaluate(`axe.run(document, { resultTypes: ['violations']${only} })`);
    const said = violations.flatMap(one => one.nodes.map(node => `${one.id}: ${one.help}\n    ${node.html.slice(0, 200)}\n    ${node.failureSummary.split("\n").slice(1).join("; ")}`));
    assert.equal(said.length, 0, `${name}, ${theme}:\n  ${said.slice(0, 6).join("\n  ")}`);
  }
}

const steps = {
  async login() {
    await page.goto(address);
    await page.getByRole("navigation").waitFor();
    assert.equal(new URL(page.url()).search, "", "the token stays in no address");
    assert.equal(await page.evaluate("document.cookie"), "", "no script can read the cookie");
  },

  async overview() {
    await at("overview");
    await shows("Operations per second");
    assert.equal(await page.locator("figure canvas").count(), 6);
    // Rates are there once the server was asked twice.
    await until("[...document.querySelectorAll('.legend output')].slice(0, 6).every(one => one.textContent !== '–')");
    await shows("Kept as deltas");
    await accessible("overview");
  },

  async collections() {
    await at("collections?db=shop");
    const row = page.getByRole("row", { name: /^pages/ });
    await row.getByText("3,000").waitFor();
    await accessible("collections");
    await row.getByRole("link").click();
    await shows("100 read so far");
    // With the keyboard alone.
    await list("Documents of pages").focus();
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("ArrowDown");
    await shows('"Page 1"', detail("The selected document"));
    await page.keyboard.press("End");
    await status(/[2-9]\d\d read so far|3,000/);
    await page.getByLabel("Filter").fill("{_id: {$gte: 10, $lt: 12}, lang: 'en'}");
    await page.keyboard.press("Enter");
    await status("2 documents");
    await page.getByLabel("Filter").fill("{_id: ");
    expected++;
    await page.keyboard.press("Enter");
    await page.getByRole("alert").filter({ hasText: "FailedToParse" }).waitFor();
    await page.getByLabel("Filter").fill("{_id: 2000}");
    await page.keyboard.press("Enter");
    await status("1 documents");
    await choose("As of", "dev");
    await status("0 documents");
    await accessible("documents");
    await button("Indexes").click();
    await page.getByRole("cell", { name: "lang_1" }).waitFor();
  },

  async history() {
    await at("history?db=shop");
    await shows("merge dev");
    const commits = list("Commits, newest first");
    assert.ok((await commits.locator("svg.graph path").count()) > 10);
    await commits.focus();
    await page.keyboard.press("Home");
    await page.keyboard.press("ArrowDown");
    await shows("Compare with its parent");
    await shows(/documents? differ/);
    await page.getByRole("listbox", { name: "Changed documents" }).getByRole("option").first().click();
    await page.locator(".boxed .changes").waitFor();
    await page.getByLabel("Name").fill("made/here");
    await button("Make a branch here").click();
    await commits.getByText("made/here").waitFor();
    await page.getByLabel("Name").fill("v2");
    await button("Make a tag").click();
    await commits.getByText("v2", { exact: true }).waitFor();
    await accessible("history");
    await page.getByLabel("Filter").fill("{author: 'bob', message: /^main [12]$/}");
    await page.keyboard.press("Enter");
    await status("2 commits");
    await page.getByLabel("Filter").fill("");
    await page.keyboard.press("Enter");
    const remotes = page.getByRole("region", { name: "Remotes" });
    await button("Push main", remotes).click();
    await status(/^mirror: main is (made|moved) at/);
    await button("Fetch", remotes).click();
    await remotes.getByText(/^mirror\/main/).waitFor();
    await commits.getByText("v2", { exact: true }).click();
    await page.getByLabel("Name").fill("v2");
    await button("Make a tag").click();
    await page.getByRole("alert").waitFor();
  },

  async compare() {
    await at("compare?db=shop&coll=pages&from=main&to=dev");
    await list("Documents that differ").getByRole("option").filter({ hasText: "title" }).first().click();
    const one = detail("The selected document");
    await one.locator(".text-change ins").first().waitFor();
    await one.locator(".text-change del").first().waitFor();
    await one.locator(".value-change ins").first().waitFor();
    await accessible("compare");
    await choose("Documents", "delete");
    await status("2 documents");
    await choose("Documents", "");
    await choose("From", "early");
    await choose("To", "main");
    await list("Documents that differ").getByRole("option").filter({ hasText: "title" }).first().waitFor();
    await choose("Documents", "delete");
    await shows("Nothing differs.");
    await choose("To", "late");
    await choose("Documents", "update");
    await list("Documents that differ").getByRole("option").filter({ hasText: "views" }).first().click();
    await one.locator(".value-change ins").first().waitFor();
    await accessible("compare-snapshots");
    await at("compare?db=shop&to=feature/one&pending=1");
    await status("1 document");
    await button("Put it aside").click();
    await shows("Nothing differs.");
    const stashes = page.getByRole("region", { name: "Stashes" });
    await stashes.getByText(/^changes on feature\/one/).waitFor();
    await accessible("stashes");
    await button("Bring it back to feature/one", stashes).click();
    await status("1 document");
    await stashes.getByText("Nothing was put aside.").waitFor();
    await button("Put it aside").click();
    await button("Drop it", stashes).click();
    await button("Yes", stashes).click();
    await stashes.getByText("Nothing was put aside.").waitFor();
    await shows("Nothing differs.");
  },

  async versions() {
    await at("versions?db=shop");
    await choose("Collection", "pages");
    await page.getByLabel("_id", { exact: true }).fill("7");
    await button("Show").click();
    await status(/versions$/);
    await list("Versions, newest first").getByRole("option").nth(1).click();
    await detail("The selected version").locator(".changes li").first().waitFor();
    await accessible("versions");
    await button("How they are kept").click();
    await shows("The chain, newest first");
    await shows("this one");
    await accessible("chain");
  },

  async snapshots() {
    await at("snapshots?db=shop&coll=pages");
    await shows("2 declared snapshots");
    const slider = page.getByRole("slider", { name: "Snapshot" });
    await slider.focus();
    await page.keyboard.press("Home");
    await page.locator("strong", { hasText: "early" }).waitFor();
    await page.getByLabel("Filter").fill("{_id: 7}");
    await page.keyboard.press("Enter");
    await list("Documents of pages").getByRole("option").first().click();
    await shows('"Page 7"', detail("The selected document"));
    await slider.focus();
    await page.keyboard.press("End");
    await list("Documents of pages").getByRole("option").filter({ hasText: "Seven of main" }).waitFor();
    assert.equal(await page.getByLabel("Filter").inputValue(), "{_id: 7}");
    await accessible("snapshots");
    await page.getByLabel("Name").fill("now");
    await button("Declare a snapshot").click();
    await shows("3 declared snapshots");
    await slider.focus();
    await page.keyboard.press("End");
    await page.locator("strong", { hasText: "now" }).waitFor();
    await button("Drop").click();
    await button("Yes").click();
    await shows("2 declared snapshots");
  },

  async merge() {
    await at("merge?db=shop&into=main&from=dev");
    await status(/^4 conflicts/);
    await accessible("merge");
    const begin = async () => {
      await button("Begin, and decide the conflicts").click();
      await status("4 conflicts to decide");
    };
    await begin();
    await button("Abort").click();
    await button("Yes").click();
    await status("The merge is forgotten");
    await begin();
    const open = text => list("Conflicts").getByRole("option").filter({ hasText: text }).first();
    const taken = text => list("Conflicts").getByRole("option").filter({ hasText: text }).getByText(/^(ours|theirs|base|document)$/).waitFor();
    await open("title, views").click();
    const conflict = detail("The selected conflict");
    await conflict.getByRole("radiogroup", { name: "title" }).getByRole("radio").nth(1).check();
    await conflict.getByRole("radiogroup", { name: "views" }).getByRole("radio").nth(2).check();
    await accessible("conflict");
    await button("Take these fields", conflict).click();
    await status("3 conflicts to decide");
    await button("Finish the merge").click();
    await page.getByRole("alert").filter({ hasText: "3 conflicts" }).waitFor();
    for (const [name, left] of [["Take ours", "2 conflicts to decide"], ["Take theirs", "1 conflict to decide"], ["As before both", "All conflicts are decided."]]) {
      await list("Conflicts").getByRole("option").filter({ hasText: "open" }).first().click();
      await button(name, conflict).click();
      await status(left);
    }
    await page.getByLabel("Message").fill("by hand");
    await button("Finish the merge").click();
    await status(/^Merged, at/);
    await status("main has everything that dev has.");
    await at("collections?db=shop&coll=pages");
    await page.getByLabel("Filter").fill("{_id: 7}");
    await page.keyboard.press("Enter");
    await list("Documents of pages").getByRole("option").filter({ hasText: "Seven of main" }).filter({ hasText: "views: 55" }).waitFor();
  },

  async proofs() {
    await at("proofs?db=shop&coll=pages&id=7");
    const get = button("Get the proof and check it");
    await get.click();
    await status("The document was in the commit, if the commit's id is right.");
    const saved = page.waitForEvent("download");
    await button("Download the proof").click();
    const file = await (await saved).path();
    await accessible("proofs");
    await page.getByLabel("_id", { exact: true }).fill("99999");
    await get.click();
    await status("No document with this _id was in the commit");
    const commit = page.getByLabel("Commit", { exact: true });
    await commit.fill("00".repeat(32));
    await get.click();
    await page.getByRole("alert").filter({ hasText: "it is of another commit" }).waitFor();
    await page.getByLabel("Check a file").setInputFiles(file);
    await page.getByRole("alert").filter({ hasText: "it is of another commit" }).waitFor();
  },

  async members() {
    await at("members");
    await shows("PRIMARY");
    await accessible("members");
  },

  async operations() {
    await at("operations");
    const row = page.getByRole("row").filter({ hasText: "to be killed" });
    await row.waitFor();
    await accessible("operations");
    await button("Kill", row).click();
    await button("Yes", row).click();
    await row.waitFor({ state: "detached" });
  },

  async reading() {
    await page.goto(reader);
    await page.getByText("only reads").waitFor();
    origin = new URL(reader).origin;
    await at("merge?db=shop&into=feature/one&from=main");
    await shows("This console only reads.");
    const merge = page.getByRole("button", { name: /^(Merge|Begin, and decide the conflicts)$/ });
    await merge.waitFor();
    assert.ok(await merge.isDisabled());
    // Whoever presses it all the same is refused.
    expected++;
    assert.equal(await page.evaluate(`(async () => (await fetch("/command", { method: "POST", headers: { "X-Console-Csrf": (await (await fetch("/session")).json()).csrf },
      body: JSON.stringify({ db: "shop", command: { createBranch: "refused" } }) })).status)()`), 403);
    await accessible("reading");
    await page.goto(address);
    origin = new URL(address).origin;
    await page.getByText("may write").waitFor();
  },

  async frame() {
    await at("overview");
    await page.getByLabel("Theme").selectOption("dark");
    await page.locator("html[data-theme=dark]").waitFor({ state: "attached" });
    await page.reload();
    await page.locator("html[data-theme=dark]").waitFor({ state: "attached" });
    await page.getByRole("link", { name: "History" }).click();
    await until("document.activeElement.tagName === 'H1'");
    assert.match(await page.title(), /^History/);
  },
};

for (const [name, run] of Object.entries(steps)) {
  const began = Date.now();
  try {
    await run();
    assert.deepEqual(errors, [], "the browser logged errors");
  } catch (error) {
    console.log(`${name}: ${error.stack ?? error.message}`);
    console.log(errors.length > 0 ? `errors of the browser:\n${errors.join("\n")}` : "");
    console.log(`the page at ${page.url()} shows:\n${(await page.locator("body").innerText().catch(() => "")).slice(0, 3000)}`);
    if (folder) await page.screenshot({ path: `${folder}/failed-${name}.png` });
    await browser.close();
    process.exit(1);
  }
  console.log(`${name}: ${Date.now() - began} ms`);
}
if (process.env.PALIMPSEST_NEW_PICTURES) fs.writeFileSync(pictures, JSON.stringify(drawn, null, 1) + "\n");
await browser.close();
