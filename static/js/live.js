/* The page stays true. No frame is relied on: a gap, a reconnect or a poll reads the regions again. */
const { $, $$, make, setClock, draw, words, time, selected } = crewlet;
const { page, subject, build, now: loadedAt } = document.documentElement.dataset;
const title = document.title;
const SILENCE = 11000, POLL = 15000, IDLE = 5000, HIDDEN = 300000, HEALTHY = 60000, SAY = 5000;
const clock = () => performance.now();
const byId = (id) => document.getElementById(id);
const MENUS = "details.chip[open], details.account[open], details.row-menu[open]";

/* One voice. */
let unsaid = [], spokeAt = -SAY, sayTimer = 0;
function say(sentence) {
  if (!sentence) return;
  unsaid.push(sentence);
  clearTimeout(sayTimer);
  sayTimer = setTimeout(() => {
    $("#say").textContent = (unsaid.length > 1 ? `${unsaid.length} changes; the last: ` : "") + unsaid.at(-1);
    unsaid = [];
    spokeAt = clock();
  }, Math.max(50, spokeAt + SAY - clock()));
}
const alarm = (sentence) => { if (!document.hidden) $("#alarm").textContent = sentence; };

/* What the reader holds is patched when it is let go. */
let pressed = null;
const held = new Map();
const retryHeld = () => setTimeout(() => { for (const [id, fresh] of [...held]) patch(id, fresh); });
addEventListener("pointerdown", ({ target }) => { pressed = target; }, true);
for (const end of ["pointerup", "pointercancel"]) addEventListener(end, () => { pressed = null; retryHeld(); }, true);
for (const end of ["focusout", "selectionchange", "toggle"]) document.addEventListener(end, retryHeld, true);
function busy(node) {
  const focus = document.activeElement;
  return (node.contains(focus) && focus.matches("input, select, textarea")) || node.contains(pressed) || selected(node) || $(MENUS, node);
}
function focusOn(node) {
  if (!node.matches("a, button, [tabindex]")) node.tabIndex = -1;
  node.focus({ preventScroll: true });
}

/* What is the same stays the same node, and keeps focus and selection. */
function morph(old, fresh) {
  if (old.nodeType !== 1) {
    if (old.data !== fresh.data) old.data = fresh.data;
    return;
  }
  for (const { name } of [...old.attributes]) {
    if (!fresh.hasAttribute(name) && name !== "open" && name !== "tabindex") old.removeAttribute(name);
  }
  for (const { name, value } of fresh.attributes) {
    if (old.getAttribute(name) !== value && name !== "open") old.setAttribute(name, value);
  }
  if (old.matches("input, textarea, select, dialog")) return;
  if (old.localName === "time") return draw(old);
  let cursor = old.firstChild;
  for (const child of [...fresh.childNodes]) {
    const kin = (node) => node?.nodeName === child.nodeName && (node.id || "") === (child.id || "");
    const same = kin(cursor), match = same ? cursor : child.id && $(`:scope > #${CSS.escape(child.id)}`, old);
    if (!kin(match)) {
      old.insertBefore(child, cursor);
      if (child.nodeType === 1) draw(child);
      continue;
    }
    if (same) cursor = cursor.nextSibling;
    else old.insertBefore(match, cursor);
    morph(match, child);
  }
  while (cursor) {
    const next = cursor.nextSibling;
    cursor.remove();
    cursor = next;
  }
}
function patch(id, fresh) {
  const old = byId(id);
  held.delete(id);
  if (!old || old.closest("dialog")) return;
  if (busy(old)) {
    held.set(id, fresh);
    return;
  }
  const before = old.textContent, was = old.dataset.fact, focus = document.activeElement, row = old.closest("[data-row]");
  const inside = old.contains(focus);
  morph(old, fresh);
  if (inside && !old.contains(document.activeElement)) focusOn(byId(focus.id) || row || $("#content"));
  if (old.textContent === before || !old.dataset.fact) return;
  old.classList.add("changed");
  // A store that falls silent, or answers again, changed nothing about the row.
  if (row && !/unknown|stale/.test(was + old.dataset.fact)) document.dispatchEvent(new CustomEvent("crewlet:changed", { detail: row }));
}
addEventListener("animationend", ({ target }) => target.classList.remove("changed"));

/* Rows that come, go or move wait for the reader; cells do not. */
const revs = {}, waiting = new Set();
let frozen = false, movedAt = clock(), reading = null, missed = [];
function orderHeld() {
  const focus = document.activeElement;
  return frozen || $("dialog[open]") || $(MENUS) || $$("[data-topic]").some((region) => $("table:hover, :checked", region) ||
    (focus !== region && region.contains(focus)) || selected(region));
}
function showWaiting() {
  const many = `${waiting.size} change${waiting.size === 1 ? "" : "s"}`;
  $("#pending").hidden = !waiting.size;
  $("[data-pending-text]").textContent = orderHeld() ? `Order held, ${many}` : many;
}
function rows({ appeared = [], left = [], moved = [] }) {
  for (const id of [...appeared, ...left, ...moved]) waiting.add(id);
  for (const id of left) byId(id)?.classList.add("ghost");
  showWaiting();
}
function settled() {
  waiting.clear();
  showWaiting();
}
function refresh(force = false) {
  missed = reading ? missed : [];
  reading ||= reread(force).finally(() => { reading = null; });
  return reading;
}
async function reread(force) {
  const here = location.pathname + location.search, urls = {};
  for (const region of $$("[data-topic]")) (urls[region.dataset.refreshUrl || here] ||= []).push(region.id);
  if (!Object.keys(urls).length) urls[here] = [];
  for (const [url, ids] of Object.entries(urls)) {
    const answer = await fetch(url);
    if (answer.redirected && new URL(answer.url).pathname.startsWith("/sign-in")) return signedOut();
    if (!answer.ok && answer.status !== 404) throw new Error(answer.status);
    const doc = new DOMParser().parseFromString(await answer.text(), "text/html");
    setClock(doc.documentElement.dataset.now);
    for (const id of ids) region(byId(id), doc.getElementById(id), force);
    for (const fact of $$("[data-fact][id]", doc)) if (!fact.closest("[data-topic]")) patch(fact.id, fact);
  }
  if (force || !orderHeld()) settled();
  // What came while the page was under way may be newer than it.
  for (const frame of missed) if (frame.cells) FRAMES.cells({ ...frame, say: "" });
}
function region(old, fresh, force) {
  if (!old || !fresh) return;
  if ((force || !orderHeld()) && !busy(old)) {
    patch(old.id, fresh);
    return;
  }
  const ids = (scope) => $$("[data-row][id]", scope).map((row) => row.id);
  const before = ids(old), after = ids(fresh);
  rows({ appeared: after.filter((id) => !before.includes(id)), left: before.filter((id) => !after.includes(id)) });
  for (const part of $$("[data-fact][id], .banner[id], [data-cell][id]", fresh)) patch(part.id, part);
}
const again = (force) => refresh(force).catch(() => { pollAt = -POLL; });
async function applyPending() {
  settled();
  await again(true);
  say("Changes applied");
}
function freeze() {
  frozen = !frozen;
  for (const button of $$("[data-freeze]")) button.ariaPressed = frozen;
  say(frozen ? "Order held" : "Order follows changes");
  showWaiting();
}
for (const name of ["pointermove", "keydown", "scroll"]) addEventListener(name, () => { movedAt = clock(); }, { passive: true });

const READINGS = { live: ["ok", "Live"], polling: ["half", "Polling"], store: ["diamond", "Store not answering"], disconnected: ["cross", "Disconnected"] };
let state = "loaded", store = {}, retryAt = 0;
const small = (text) => make("span", { className: "k" }, text);
function chipNote(reading) {
  const { since, answered_at: answered } = store;
  if (reading === "polling") return ["every 15 s"];
  if (reading === "live") return answered ? [small("store answered "), time(answered)] : [];
  if (reading === "store") return since ? ["since ", time(since, "at"), small(`, ${words(since, "span")}`)] : [];
  return [navigator.onLine ? `retry in ${Math.max(0, Math.ceil((retryAt - clock()) / 1000))} s` : "this computer is offline"];
}
function drawChip() {
  const chip = $("#chip");
  if (!chip || state === "loaded") return;
  const reading = state === "live" && store.state === "down" ? "store" : state, was = chip.dataset.reading;
  const [shape, word] = READINGS[reading];
  if (was !== reading) {
    chip.dataset.reading = reading;
    $(".chip-shape .i", chip).setAttribute("class", `i i-${shape}`);
    $("use", chip).setAttribute("href", `#s-${shape}`);
    $("[data-chip-word]").textContent = word;
    document.title = reading === "live" ? title : `${title} (not live)`;
    if (reading === "disconnected") alarm("Disconnected. What this page shows keeps ageing.");
    else if (was !== "loaded" || reading !== "live") say(reading === "live" ? "Live again" : word);
  }
  const fresh = make("span", {}, ...chipNote(reading)), box = $("[data-chip-note]");
  if (box.textContent !== fresh.textContent) box.replaceChildren(...fresh.childNodes);
}
function drawSources(sources) {
  if (sources) $("[data-sources]").replaceChildren(...sources.map(({ name, state: word, answered_at: at }) =>
    make("tr", {}, make("th", { scope: "row" }, name), make("td", {}, ...(at ? [word === "live" ? "" : "last ", time(at)] : ["never answered"])))));
}

let socket = null, fails = 0, timer = 0, heardAt = 0, openedAt = 0, hiddenAt = 0, pollAt = -POLL, ended = false, opened = false;
const FRAMES = {
  clock(frame) {
    setClock(frame.server_time);
    store = frame.store;
    drawSources(frame.sources);
  },
  cells(frame) {
    for (const [id, html] of Object.entries(frame.cells)) {
      const box = make("template", { innerHTML: html });
      if (box.content.firstElementChild) patch(id, box.content.firstElementChild);
    }
    say(frame.say);
  },
  rows,
  resync: () => again(),
};
function receive(frame) {
  if (reading) missed.push(frame);
  FRAMES[frame.kind]?.(frame);
  heardAt = clock();
  state = "live";
  drawChip();
  if (frame.rev === undefined) return;
  const known = revs[frame.topic];
  revs[frame.topic] = frame.rev;
  if (known !== undefined && known !== frame.prev_rev) again();
}
function connect() {
  clearTimeout(timer);
  if (!page || ended || socket) return;
  const mine = new WebSocket(`${location.protocol === "https:" ? "wss:" : "ws:"}//${location.host}/ws/live/`);
  socket = mine;
  mine.onopen = () => {
    openedAt = heardAt = clock();
    mine.send(JSON.stringify({ kind: "hello", build, page, subject, query: location.search.slice(1), made_at: opened ? "" : loadedAt }));
    for (const topic of Object.keys(revs)) delete revs[topic];
    if (opened) again();
    opened = true;
  };
  mine.onmessage = ({ data }) => { if (mine === socket) receive(JSON.parse(data)); };
  mine.onclose = ({ code }) => { if (mine === socket) closed(code); };
}
function drop() {
  const old = socket;
  socket = null;
  old?.close();
}
function closed(code) {
  socket = null;
  if (code === 4401) return signedOut();
  if (code === 4403) return location.reload();
  if (code === 4409) return end($("#newer-build"));
  if (openedAt && clock() - openedAt > HEALTHY) fails = 0;
  openedAt = 0;
  const wait = Math.random() * Math.min(30000, 500 * 2 ** fails);
  fails += 1;
  retryAt = clock() + wait;
  timer = setTimeout(connect, wait);
  // A restart is met by one quiet retry.
  if ((fails > 1 || (code !== 1012 && code !== 1013)) && state !== "polling") state = "disconnected";
  drawChip();
}
function retryNow() {
  drop();
  connect();
}
async function poll() {
  pollAt = clock();
  const word = await refresh().then(() => "polling", () => "disconnected");
  if (state !== "live") state = word;
}
function beat() {
  const t = clock();
  if (waiting.size) {
    if (t - movedAt > IDLE && scrollY < 8 && state === "live" && !orderHeld()) applyPending();
    else showWaiting();
  }
  if (!page || ended) return;
  if (socket?.readyState === 1 && t - heardAt > SILENCE) {
    drop();
    state = "disconnected";
    closed(1006);
  }
  if (hiddenAt && t - hiddenAt > HIDDEN && socket) {
    drop();
    state = "disconnected";
  }
  if (fails > 2 && state !== "live" && t - pollAt > POLL && !hiddenAt) poll();
  drawChip();
}
setInterval(beat, 1000);
document.addEventListener("visibilitychange", () => {
  hiddenAt = document.hidden ? clock() : 0;
  if (!hiddenAt && socket?.readyState !== 1) retryNow();
});
addEventListener("online", retryNow);
addEventListener("pageshow", ({ persisted }) => { if (persisted) retryNow(); });

function end(notice) {
  ended = true;
  state = "disconnected";
  drop();
  notice.hidden = false;
  drawChip();
  alarm(notice.textContent);
}
const signedOut = () => end($("#signed-out"));

addEventListener("click", ({ target }) => {
  if (target.closest("[data-apply]")) applyPending();
  if (target.closest("[data-retry]")) retryNow();
  if (target.closest("[data-freeze]")) freeze();
});
Object.assign(crewlet, { say, refresh: again, applyPending, freeze, focusOn, MENUS });
connect();
