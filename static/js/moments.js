/* Times: every <time> is read again from the server's clock, in the reader's zone, in the words of
   runtime/moments.py. The server's clock is the one that was last sent, moved on by this one's pace. */
"use strict";

window.crewlet = (() => {
  const root = document.documentElement;
  const MONTHS = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split(" ");
  const SKEW_MS = 5000;
  const reader = Intl.DateTimeFormat().resolvedOptions().timeZone || "UTC";
  const formats = new Map();
  let base = 0;
  let mark = 0;

  root.classList.add("js");
  document.cookie = `zone=${reader}; path=/; max-age=31536000; samesite=lax`;

  function setClock(iso) {
    const server = Date.parse(iso);
    if (Number.isNaN(server)) return;
    base = server;
    mark = performance.now();
    const off = Math.round((Date.now() - server) / 1000);
    const note = document.querySelector("[data-skew]");
    if (!note) return;
    const skewed = Math.abs(off) * 1000 > SKEW_MS;
    note.hidden = !skewed;
    if (skewed) note.textContent = `this computer's clock is ${span(Math.abs(off), true)} ${off < 0 ? "behind" : "ahead"}`;
  }
  const now = () => base + performance.now() - mark;

  function zone(mode = root.dataset.tz) {
    return mode === "reader" ? reader : mode === "company" ? root.dataset.companyZone || "UTC" : "UTC";
  }
  function local(at, name) {
    if (!formats.has(name)) {
      formats.set(name, new Intl.DateTimeFormat("en-GB", {
        timeZone: name, hourCycle: "h23", year: "numeric", month: "numeric", day: "numeric",
        hour: "2-digit", minute: "2-digit", second: "2-digit",
      }));
    }
    const parts = {};
    for (const { type, value } of formats.get(name).formatToParts(at)) parts[type] = value;
    const minutes = Math.round((Date.UTC(parts.year, parts.month - 1, parts.day, parts.hour, parts.minute, parts.second) - Math.floor(at / 1000) * 1000) / 60000);
    const size = Math.abs(minutes);
    const rest = size % 60 ? `:${String(size % 60).padStart(2, "0")}` : "";
    parts.offset = minutes ? `UTC${minutes < 0 ? "-" : "+"}${Math.floor(size / 60)}${rest}` : "UTC";
    parts.date = `${parts.day} ${MONTHS[parts.month - 1]}`;
    return parts;
  }

  function span(seconds, fine) {
    const s = Math.max(0, Math.floor(seconds)), m = Math.floor(s / 60), h = Math.floor(s / 3600), d = Math.floor(s / 86400);
    if (s < 60) return `${s} s`;
    if (m < 60) return `${m} min${fine && m < 10 && s % 60 ? ` ${s % 60} s` : ""}`;
    if (h < 24) return `${h} h${fine && m % 60 ? ` ${m % 60} min` : ""}`;
    return `${d} day${d === 1 ? "" : "s"}`;
  }
  function full(at, name) {
    const p = local(at, name);
    return `${p.date} ${p.year}, ${p.hour}:${p.minute}:${p.second} ${p.offset}`;
  }
  function words(at, form, name = zone()) {
    const age = (now() - at) / 1000;
    if (form === "ago") return age < -1 ? `in ${span(-age)}` : `${span(age)} ago`;
    if (form === "span") return span(age, true);
    if (form === "in") return age > 0 ? `overdue by ${span(age, true)}` : `in ${span(-age, true)}`;
    if (form === "full") return full(at, name);
    const p = local(at, name), today = local(now(), name);
    if (p.date === today.date && p.year === today.year) return `${p.hour}:${p.minute}:${p.second}`;
    return `${p.date}${p.year === today.year ? "" : ` ${p.year}`}, ${p.hour}:${p.minute}`;
  }
  function everywhere(at) {
    const rows = [["company", zone("company")], ["yours", reader], ["UTC", "UTC"]];
    return rows.map(([who, name]) => `${full(at, name)}  ${who}`).join("\n");
  }

  const selected = (node) => {
    const selection = document.getSelection();
    return selection && !selection.isCollapsed && selection.containsNode(node, true);
  };
  function draw(scope = document) {
    const name = zone();
    const list = scope.matches && scope.matches("time") ? [scope] : scope.querySelectorAll("time[datetime]");
    for (const time of list) {
      const text = words(Date.parse(time.dateTime), time.dataset.form || "ago", name);
      if (time.textContent !== text && !selected(time)) time.textContent = text;
    }
  }
  function tick() {
    if (!document.hidden) draw();
    setTimeout(tick, 1000 - (now() % 1000) + 5);
  }

  // All three zones, exact, on hover or tap: written when asked, for a page holds thousands of times.
  document.addEventListener("pointerover", (event) => {
    const time = event.target.closest("time[datetime]");
    if (time) time.title = everywhere(Date.parse(time.dateTime));
  });
  document.addEventListener("click", (event) => {
    document.querySelectorAll(".when").forEach((old) => old.remove());
    const time = event.target.closest("time[datetime]");
    if (!time || event.target.closest("a, button, summary")) return;
    const box = document.createElement("div");
    const at = time.getBoundingClientRect();
    box.className = "when";
    box.setAttribute("role", "status");
    box.textContent = everywhere(Date.parse(time.dateTime));
    document.body.append(box);
    const left = Math.max(8, Math.min(at.left, innerWidth - box.offsetWidth - 8)) + scrollX;
    box.style.setProperty("left", `${left}px`);
    box.style.setProperty("top", `${at.bottom + scrollY + 4}px`);
  });

  function setZone(mode) {
    root.dataset.tz = mode;
    document.cookie = `tz=${mode}; path=/; max-age=31536000; samesite=lax`;
    for (const option of document.querySelectorAll("[data-timezone] option")) {
      const label = option.textContent.split(",")[0];
      option.selected = option.value === mode;
      option.textContent = option.selected && mode !== "utc" ? `${label}, ${local(now(), zone(mode)).offset}` : label;
    }
    const url = new URL(location.href);
    if (url.searchParams.has("tz")) {
      url.searchParams.set("tz", mode);
      history.replaceState(history.state, "", url);
    }
    draw();
  }
  document.addEventListener("change", (event) => {
    if (event.target.matches("[data-timezone]")) setZone(event.target.value);
  });

  setClock(root.dataset.now || new Date().toISOString());
  draw();
  tick();
  return { setClock, now, draw, words, setZone, span };
})();
