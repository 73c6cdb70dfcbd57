/* Times, in the words of runtime/moments.py: the server's clock, the reader's zone. */
const root = document.documentElement;
const MONTHS = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split(" ");
const $ = (selector, scope = document) => scope.querySelector(selector);
const $$ = (selector, scope = document) => [...scope.querySelectorAll(selector)];
const reader = Intl.DateTimeFormat().resolvedOptions().timeZone || "UTC";
const formats = {};
let base = 0, mark = 0, wall = 0;

function make(tag, props = {}, ...children) {
  const node = Object.assign(document.createElement(tag), props);
  node.append(...children);
  return node;
}
function keep(name, value) {
  document.cookie = `${name}=${value}; path=/; max-age=31536000; samesite=lax`;
}
// Sleep stops one of the two clocks: the older age is the safer one.
const now = () => base + Math.max(performance.now() - mark, Date.now() - wall);

function setClock(iso) {
  if (!Date.parse(iso)) return;
  base = Date.parse(iso);
  mark = performance.now();
  wall = Date.now();
  const off = Math.round((wall - base) / 1000);
  const note = $("[data-skew]");
  if (!note) return;
  note.hidden = Math.abs(off) <= 5;
  note.textContent = `this computer's clock is ${span(Math.abs(off), true)} ${off < 0 ? "behind" : "ahead"}`;
}

const zoneOf = (mode) => ({ reader, company: root.dataset.companyZone }[mode] || "UTC");
function local(at, zone) {
  formats[zone] ||= new Intl.DateTimeFormat("en-GB", {
    timeZone: zone, hourCycle: "h23", year: "numeric", month: "numeric", day: "numeric",
    hour: "2-digit", minute: "2-digit", second: "2-digit",
  });
  const parts = {};
  for (const { type, value } of formats[zone].formatToParts(at)) parts[type] = value;
  const { year, month, day, hour, minute, second } = parts;
  const shift = Math.round((Date.UTC(year, month - 1, day, hour, minute, second) - at) / 60000);
  const size = Math.abs(shift), rest = size % 60;
  parts.offset = shift ? `UTC${shift < 0 ? "-" : "+"}${Math.floor(size / 60)}${rest ? `:${rest}` : ""}` : "UTC";
  parts.date = `${+day} ${MONTHS[month - 1]}`;
  parts.time = `${hour}:${minute}:${second}`;
  return parts;
}
function span(seconds, fine) {
  const s = Math.max(0, Math.floor(seconds)), m = Math.floor(s / 60), h = Math.floor(m / 60), d = Math.floor(h / 24);
  if (s < 60) return `${s} s`;
  if (m < 60) return `${m} min${fine && m < 10 && s % 60 ? ` ${s % 60} s` : ""}`;
  if (h < 24) return `${h} h${fine && m % 60 ? ` ${m % 60} min` : ""}`;
  return `${d} day${d === 1 ? "" : "s"}`;
}
function words(iso, form = "ago", zone = zoneOf(root.dataset.tz)) {
  const at = Date.parse(iso), age = (now() - at) / 1000;
  if (form === "ago") return age < -1 ? `in ${span(-age)}` : `${span(age)} ago`;
  if (form === "span") return span(age, true);
  if (form === "in") return age > 0 ? `overdue by ${span(age, true)}` : `in ${span(-age, true)}`;
  const p = local(at, zone), today = local(now(), zone);
  if (form === "full") return `${p.date} ${p.year}, ${p.time} ${p.offset}`;
  if (p.year !== today.year) return `${p.date} ${p.year}, ${p.time.slice(0, 5)}`;
  return p.date === today.date ? p.time : `${p.date}, ${p.time.slice(0, 5)}`;
}
const everywhere = (iso) => ["company", "reader", "utc"]
  .map((mode) => `${words(iso, "full", zoneOf(mode))}  ${mode === "reader" ? "yours" : mode}`).join("\n");
const time = (iso, form = "ago") => {
  const node = make("time", { dateTime: iso, textContent: words(iso, form) });
  node.dataset.form = form;
  return node;
};

// Kept by its event: asking a selection after a write lays the whole page out, once a cell.
let picked = null;
document.addEventListener("selectionchange", () => {
  const selection = getSelection();
  picked = selection && !selection.isCollapsed ? selection : null;
});
const selected = (node) => picked?.containsNode(node, true);
function draw(scope = document) {
  const due = [];
  for (const each of scope.matches?.("time") ? [scope] : $$("time[datetime]", scope)) {
    const text = words(each.dateTime, each.dataset.form);
    if (each.textContent !== text && !selected(each)) due.push([each, text]);
  }
  for (const [each, text] of due) each.textContent = text;
}
function tick() {
  if (!document.hidden) draw();
  setTimeout(tick, 1005 - (now() % 1000));
}
function setZone(mode) {
  root.dataset.tz = mode;
  keep("tz", mode);
  for (const option of $$("[data-timezone] option")) {
    const label = option.textContent.split(",")[0];
    option.selected = option.value === mode;
    option.textContent = option.selected && mode !== "utc" ? `${label}, ${local(now(), zoneOf(mode)).offset}` : label;
  }
  const url = new URL(location);
  if (url.searchParams.has("tz")) {
    url.searchParams.set("tz", mode);
    history.replaceState(history.state, "", url);
  }
  draw();
}

// All three zones on hover and tap; written when asked, for a page holds thousands of times.
addEventListener("pointerover", ({ target }) => {
  if (target.matches?.("time")) target.title = everywhere(target.dateTime);
});
addEventListener("click", ({ target }) => {
  $(".when")?.remove();
  if (!target.matches?.("time") || target.closest("a, button, summary")) return;
  const at = target.getBoundingClientRect();
  const box = make("div", { className: "when", role: "status", textContent: everywhere(target.dateTime) });
  document.body.append(box);
  box.style.left = `${Math.max(8, Math.min(at.left, innerWidth - box.offsetWidth - 8)) + scrollX}px`;
  box.style.top = `${at.bottom + scrollY + 4}px`;
});
addEventListener("change", ({ target }) => {
  if (target.matches("[data-timezone]")) setZone(target.value);
});

root.classList.add("js");
keep("zone", reader);
setClock(root.dataset.now || new Date().toISOString());
draw();
tick();
window.crewlet = { $, $$, make, keep, setClock, draw, words, time, selected, setZone };
