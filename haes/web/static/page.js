// The page: shows what the server says of the cluster, now or at any event. Texts reach the page as text, never as HTML.

const SHOWN_SERVICES = 200;   // rows; more are found by searching
const SHOWN_LINES = 300;      // lines of the journal that are kept
const SHOWN_MOTIONS = 30;
const PLAY_INTERVAL = 400;    // milliseconds between two events
const DRAG_PAUSE = 80;        // milliseconds without a move of the slider before the server is asked

const byId = (id) => document.getElementById(id);
const seen = { live: true, now: null, past: null, services: new Map(), first: 1, last: 1, older: null, mark: null };
let playing = null, asked = 0, dragging = null, token = "";

function element(name, text, kind) {
  const made = document.createElement(name);
  if (text !== undefined) made.textContent = text;
  if (kind) made.className = kind;
  return made;
}

async function ask(path, options) {
  const answer = await fetch(path, options);
  const data = await answer.json().catch(() => ({ error: `status ${answer.status}` }));
  if (!answer.ok) throw new Error(data.error || `status ${answer.status}`);
  return data;
}

// ---- what is shown ----

function shownState() { return seen.live ? seen.now : seen.past; }

function showHeadline(state) {
  byId("cluster").textContent = seen.now ? seen.now.cluster : "";
  const leader = state.leader ? `${state.leader} leads` : "nobody leads";
  const words = seen.live
    ? `event ${state.n}, ${state.when}; ${state.stale ? `not up to date: ${state.stale}` : leader}`
    : `as it was at event ${state.n}, ${state.when}; ${leader}`;
  byId("headline").textContent = state.disarm ? `${words}; HA is ${state.disarm}` : words;
  byId("point").textContent = `event ${state.n} · ${state.when}`;
}

function showTrouble(state) {
  const lines = seen.live ? state.trouble || [] : [];
  byId("trouble").hidden = lines.length === 0;
  byId("trouble").querySelector("ul").replaceChildren(...lines.map((line) => element("li", line)));
}

function bar(name, share) {
  const row = element("p", `${name} ${(share * 100).toFixed(0)} %`);
  const meter = element("meter");
  Object.assign(meter, { min: 0, max: 1, low: 0.7, high: 0.9, optimum: 0, value: Math.min(1, share) });
  meter.setAttribute("aria-label", name);
  row.append(meter);
  return row;
}

function showNodes(state) {
  byId("nodes").replaceChildren(...state.nodes.map((node) => {
    const box = element("article", undefined, "node");
    const title = element("h3", node.node);
    const good = node.state === "online";
    title.append(element("span", node.maintenance ? `${node.state}, in maintenance` : node.state, good ? "good" : "bad"));
    const load = seen.live && state.loads ? state.loads[node.node] : undefined;
    box.append(title);
    if (load) box.append(bar("cpu", load.cpu), bar("memory", load.mem));
    box.append(element("p", `${node.services} service${node.services === 1 ? "" : "s"}`));
    return box;
  }));
}

function kindOf(row) {
  if (row[3] === "error" || row[3] === "fence" || row[3] === "recovery") return "bad";
  return row[3] === "started" && row[4] ? "good" : "warn";
}

function showServices() {
  const wanted = byId("find-service").value.toLowerCase();
  const rows = [...seen.services.values()].filter((row) => `${row[0]} ${row[1]} ${row[3]}`.toLowerCase().includes(wanted));
  byId("services").replaceChildren(...rows.slice(0, SHOWN_SERVICES).map((row) => {
    const line = element("tr");
    const name = element("td"), button = element("button", row[0]);
    button.type = "button";
    button.setAttribute("aria-label", `why is ${row[0]} where it is`);
    button.addEventListener("click", () => explain(row[0]));
    name.append(button);
    const state = row[3] === "started" ? (row[4] ? "runs" : "is being started") : row[3] || "not looked after";
    line.append(name, element("td", row[1] || "-"), element("td", row[2] || "-"), element("td", state, kindOf(row)),
      element("td", row[5] || ""));
    return line;
  }));
  const more = rows.length > SHOWN_SERVICES ? `, the first ${SHOWN_SERVICES} are shown` : "";
  byId("services-count").textContent = `${rows.length} of ${seen.services.size}${more}`;
}

function seconds(count) { return count < 120 ? `${Math.round(count)} s` : `${(count / 60).toFixed(1)} min`; }

function showMemory(state) {
  const memory = state.memory, lines = [];
  if (memory.motion) lines.push([`motion ${memory.motion[0]}: ${memory.motion[1].join(", ")} from ${memory.motion[2]} to ${memory.motion[3]}, under way`, "warn"]);
  if (memory.paused_until) lines.push([`too many motions failed in a row: paused until ${memory.paused_until}`, "bad"]);
  for (const row of memory.failures) {
    const times = row.attempts === 1 ? "once" : `${row.attempts} times`;
    const left = !row.left_out ? "may be tried again"
      : row.seconds_left ? `not tried for ${seconds(row.seconds_left)}` : `not tried before series ${row.first_series}`;
    lines.push([`${row.resource} to ${row.target} failed ${times} (${row.reason}); ${left}`, "bad"]);
  }
  for (const [name, , left] of memory.cooldowns) lines.push([`${name} rests for ${seconds(left)}`, ""]);
  if (!lines.length) lines.push(["nothing failed, nothing rests", ""]);
  byId("memory").replaceChildren(...lines.map(([text, kind]) => element("li", text, kind)));
}

function show() {
  const state = shownState();
  if (!state) return;
  showHeadline(state); showTrouble(state); showNodes(state); showServices(); showMemory(state);
  const slider = byId("slider");
  slider.min = seen.first; slider.max = seen.last;
  if (dragging === null) slider.value = state.n;
  slider.setAttribute("aria-valuetext", `event ${state.n}, ${state.when}`);
  byId("live").setAttribute("aria-pressed", String(seen.live));
}

function useState(state) {
  seen.services = new Map(state.services.map((row) => [row[0], row]));
  show();
}

// ---- time ----

async function goTo(point, keep) {
  const mine = ++asked;
  try {
    const state = await ask(`/api/at?point=${encodeURIComponent(point)}`);
    if (mine !== asked) return;
    seen.live = false; seen.past = state;
    if (!keep) history.replaceState(null, "", `#at=${state.n}`);
    useState(state);
    await readJournal(state.n + 1);
  } catch (error) { say("This point cannot be shown", error.message); }
}

async function goLive() {
  asked++; stopPlaying();
  seen.live = true;
  history.replaceState(null, "", location.pathname);
  seen.now = await ask("/api/now");
  seen.last = Math.max(seen.last, seen.now.n);
  useState(seen.now);
  await readJournal(null);
}

function stopPlaying() { clearInterval(playing); playing = null; byId("play").textContent = "play"; }

function step(by) {
  const state = shownState();
  if (state) goTo(String(Math.min(seen.last, Math.max(seen.first, state.n + by))));
}

// ---- the journal and motions ----

function lineRow(line) {
  const row = element("tr");
  const n = element("td", undefined, "n"), button = element("button", String(line.n));
  button.type = "button";
  button.setAttribute("aria-label", `show the cluster as it was at event ${line.n}`);
  button.addEventListener("click", () => goTo(String(line.n)));
  n.append(button);
  const kind = line.level.startsWith("err") ? "bad" : line.level.startsWith("warn") ? "warn" : "";
  row.append(n, element("td", line.when, "when"), element("td", line.by), element("td", line.subject),
    element("td", line.text ? `${line.text} (${line.type})` : line.type, kind));
  return row;
}

async function readJournal(before, more) {
  const query = new URLSearchParams({ search: byId("find-line").value, type: byId("kind").value, limit: "100" });
  if (before !== null) query.set("before", before);
  const found = await ask(`/api/journal?${query}`);
  const rows = found.lines.map(lineRow);
  if (more) byId("journal").append(...rows); else byId("journal").replaceChildren(...rows);
  seen.older = found.next;
  byId("older").hidden = found.next === null;
  if (!more) await readMotions(before);
}

const MOTION_WORDS = { "balance.motion": "began", "balance.moved": "arrived", "balance.failed": "failed",
  "balance.dropped": "came to nothing", "balance.motion_refused": "was refused", "balance.paused": "paused",
  "balance.resumed": "went on", "balance.advised": "advice" };

async function readMotions(before) {
  const query = new URLSearchParams({ type: "balance.", limit: "200" });
  if (before !== null) query.set("before", before);
  const found = await ask(`/api/journal?${query}`);
  showMotions(found.lines);
}

function motionRow(line) {
  const row = element("li", undefined, line.type === "balance.failed" ? "bad" : line.type === "balance.moved" ? "good" : "");
  row.append(element("span", `${line.when}: ${MOTION_WORDS[line.type]}: ${line.text || line.subject} `));
  return row;
}

function showMotions(lines) {
  const rows = lines.filter((line) => line.type in MOTION_WORDS).slice(0, SHOWN_MOTIONS).map(motionRow);
  byId("motions").replaceChildren(...(rows.length ? rows : [element("li", "none")]));
}

// ---- questions and commands ----

function say(title, text, service) {
  byId("answer-title").textContent = title;
  byId("answer-text").textContent = text;
  byId("act").hidden = !(service && seen.live && seen.now && seen.now.acts);
  if (!byId("act").hidden) {
    byId("target").replaceChildren(...seen.now.nodes.map((node) => element("option", node.node)));
    byId("act").dataset.service = service;
  }
  if (!byId("answer").open) byId("answer").showModal();
}

async function explain(name) {
  const query = new URLSearchParams({ service: name });
  if (!seen.live) query.set("n", seen.past.n);
  try { say(`Why is ${name} where it is?`, (await ask(`/api/explain?${query}`)).text, name); }
  catch (error) { say(name, error.message); }
}

async function act(verb) {
  token = byId("token").value || token;
  try {
    const said = await ask("/api/commands", {
      method: "POST",
      headers: { "content-type": "application/json", authorization: `Bearer ${token}` },
      body: JSON.stringify({ verb, arguments: [byId("act").dataset.service, byId("target").value] }),
    });
    byId("answer-text").textContent = `asked for, in the name of ${said.user}; the journal shows what becomes of it`;
  } catch (error) { byId("answer-text").textContent = error.message; }
}

async function compare() {
  const state = shownState();
  if (seen.mark === null) {
    seen.mark = state.n;
    byId("mark").textContent = `compare with event ${state.n}`;
    return;
  }
  const [before, after] = [seen.mark, state.n].sort((a, b) => a - b);
  seen.mark = null;
  byId("mark").textContent = "compare from here";
  try {
    const found = await ask(`/api/compare?before=${before}&after=${after}`);
    say(`What changed from event ${before} to event ${after}`, found.lines.join("\n") || "nothing");
  } catch (error) { say("These points cannot be compared", error.message); }
}

// ---- live ----

function update(data) {
  const now = seen.now;
  if (!now) return;
  const { lines = [], services = [], ...rest } = data;
  Object.assign(now, rest);
  seen.last = Math.max(seen.last, now.n);
  if (services.length) {
    const known = new Map(now.services.map((row) => [row[0], row]));
    for (const row of services) row.length === 1 ? known.delete(row[0]) : known.set(row[0], row);
    now.services = [...known.values()];
  }
  if (!seen.live) { byId("slider").max = seen.last; return; }
  if (services.length) seen.services = new Map(now.services.map((row) => [row[0], row]));
  show();
  const search = byId("find-line").value.toLowerCase(), kind = byId("kind").value;
  const fitting = lines.filter((line) => line.type.startsWith(kind)
    && `${line.type} ${line.subject} ${line.by} ${line.text}`.toLowerCase().includes(search));
  byId("journal").prepend(...fitting.map(lineRow).reverse());
  while (byId("journal").rows.length > SHOWN_LINES) byId("journal").lastElementChild.remove();
  const moved = lines.filter((line) => line.type in MOTION_WORDS);
  if (moved.length) readMotions(null);
}

function follow() {
  const source = new EventSource(`/api/stream?after=${seen.now.n}`);
  source.addEventListener("update", (message) => update(JSON.parse(message.data)));
  source.addEventListener("reload", async () => { source.close(); await begin(); });
  source.addEventListener("error", () => {
    if (seen.live) byId("headline").textContent = "the connection broke; what is shown may be old";
    // The browser connects again by itself and says where it stopped, unless the server refused.
    if (source.readyState === EventSource.CLOSED) setTimeout(begin, 1000);
  });
}

async function begin() {
  try {
    const span = await ask("/api/span");
    Object.assign(seen, span);
    seen.now = await ask("/api/now");
    seen.last = Math.max(seen.last, seen.now.n);
    follow();
    const point = new URLSearchParams(location.hash.slice(1)).get("at");
    if (point && seen.past === null) await goTo(point); else if (seen.live) { useState(seen.now); await readJournal(null); }
  } catch (error) {
    byId("headline").textContent = `the page cannot be reached: ${error.message}`;
    setTimeout(begin, 2000);
  }
}

byId("slider").addEventListener("input", () => {
  clearTimeout(dragging);
  byId("point").textContent = `event ${byId("slider").value}`;
  dragging = setTimeout(() => { dragging = null; goTo(byId("slider").value); }, DRAG_PAUSE);
});
byId("back").addEventListener("click", () => step(-1));
byId("forth").addEventListener("click", () => step(1));
byId("live").addEventListener("click", goLive);
byId("play").addEventListener("click", () => {
  if (playing) { stopPlaying(); return; }
  byId("play").textContent = "stop";
  playing = setInterval(() => {
    if (shownState().n >= seen.last) stopPlaying(); else step(1);
  }, PLAY_INTERVAL);
});
byId("mark").addEventListener("click", compare);
byId("find-service").addEventListener("input", showServices);
byId("find-line").addEventListener("change", () => readJournal(seen.live ? null : seen.past.n + 1));
byId("kind").addEventListener("change", () => readJournal(seen.live ? null : seen.past.n + 1));
byId("older").addEventListener("click", () => seen.older !== null && readJournal(seen.older, true));
byId("migrate").addEventListener("click", () => act("migrate"));
byId("relocate").addEventListener("click", () => act("relocate"));
byId("close").addEventListener("click", () => byId("answer").close());
window.addEventListener("hashchange", () => {
  const point = new URLSearchParams(location.hash.slice(1)).get("at");
  if (point) goTo(point, true);
});
begin();
