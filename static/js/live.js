/* The page stays true: a socket client with reconnect and polling, patches by id, pending rows.
   Nothing here depends on having seen every frame: a gap, a reconnect or a poll reads the region again. */
"use strict";

(() => {
  const root = document.documentElement;
  const { setClock, now, draw, words } = window.crewlet;
  const page = root.dataset.page;
  const SILENCE = 12000, POLL = 15000, IDLE = 5000, HIDDEN = 300000, HEALTHY = 60000, SAY = 5000;
  const title = document.title;
  const $ = (selector, scope = document) => scope.querySelector(selector);
  const $$ = (selector, scope = document) => [...scope.querySelectorAll(selector)];

  /* --- one voice -------------------------------------------------------------------------- */
  let queue = [], spokeAt = -SAY, sayTimer = 0;
  function say(sentence) {
    if (!sentence) return;
    queue.push(sentence);
    clearTimeout(sayTimer);
    sayTimer = setTimeout(() => {
      const last = queue.at(-1);
      $("#say").textContent = queue.length > 1 ? `${queue.length} changes; the last: ${last}` : last;
      queue = [];
      spokeAt = performance.now();
    }, Math.max(50, spokeAt + SAY - performance.now()));
  }
  const alarm = (sentence) => { $("#alarm").textContent = sentence; };

  /* --- what must not be touched ------------------------------------------------------------ */
  let pressed = null;
  addEventListener("pointerdown", (event) => { pressed = event.target; }, true);
  for (const end of ["pointerup", "pointercancel"]) addEventListener(end, () => setTimeout(() => { pressed = null; retryHeld(); }), true);
  const editable = (node) => node && node.matches("input, select, textarea, [contenteditable]");
  function busy(node) {
    const focus = document.activeElement;
    const selection = document.getSelection();
    return (node.contains(focus) && editable(focus)) || (pressed && node.contains(pressed)) || Boolean($("dialog[open], .menu-open", node)) ||
      (selection && !selection.isCollapsed && selection.containsNode(node, true));
  }

  /* --- patching: what is the same stays the same node ---------------------------------------- */
  function morph(old, fresh) {
    if (old.nodeType !== 1) {
      if (old.data !== fresh.data) old.data = fresh.data;
      return;
    }
    for (const { name } of [...old.attributes]) {
      if (!fresh.hasAttribute(name) && !(name === "open" || name === "tabindex")) old.removeAttribute(name);
    }
    for (const { name, value } of fresh.attributes) {
      if (old.getAttribute(name) !== value && name !== "open") old.setAttribute(name, value);
    }
    if (old.matches("input, textarea, select, dialog")) return;
    if (old.localName === "time" && fresh.localName === "time") {
      draw(old);
      return;
    }
    let cursor = old.firstChild;
    for (const child of [...fresh.childNodes]) {
      let match = null;
      if (cursor && cursor.nodeName === child.nodeName && (cursor.id || "") === (child.id || "")) match = cursor;
      else if (child.id) match = $(`:scope > #${CSS.escape(child.id)}`, old);
      if (!match) {
        old.insertBefore(child, cursor);
        if (child.nodeType === 1) draw(child);
      } else {
        if (match === cursor) cursor = cursor.nextSibling;
        else old.insertBefore(match, cursor);
        morph(match, child);
      }
    }
    while (cursor) {
      const next = cursor.nextSibling;
      cursor.remove();
      cursor = next;
    }
  }
  const held = new Map();
  function patch(id, fresh) {
    const old = document.getElementById(id);
    if (!old) return false;
    if (old.closest("dialog")) return true;
    if (busy(old)) {
      held.set(id, fresh);
      return true;
    }
    held.delete(id);
    const before = old.textContent;
    const focus = document.activeElement;
    const inside = focus !== document.body && old.contains(focus);
    const row = old.closest("[data-row]");
    morph(old, fresh);
    if (inside && !old.contains(document.activeElement)) {
      const back = (focus.id && document.getElementById(focus.id)) || row || $("#content");
      back.focus({ preventScroll: true });
    }
    if (old.textContent !== before && old.hasAttribute("data-fact")) {
      old.classList.remove("changed");
      requestAnimationFrame(() => old.classList.add("changed"));
    }
    return true;
  }
  addEventListener("animationend", (event) => event.target.classList.remove("changed"));
  function retryHeld() {
    for (const [id, fresh] of [...held]) patch(id, fresh);
  }
  for (const name of ["focusout", "selectionchange", "toggle"]) document.addEventListener(name, () => setTimeout(retryHeld), true);
  function parse(html) {
    const template = document.createElement("template");
    template.innerHTML = html;
    return template.content.firstElementChild;
  }

  /* --- regions, rows that wait, order held ---------------------------------------------------- */
  const revs = new Map();
  const pending = new Set();
  let frozen = false;
  const regions = () => $$("[data-topic]");
  function orderHeld() {
    const focus = document.activeElement;
    const selection = document.getSelection();
    return frozen || Boolean($("dialog[open]")) || Boolean($("details.account[open], details.chip[open], details.row-menu[open]")) || regions().some((region) =>
      $$("table", region).some((table) => table.matches(":hover")) || (focus !== region && region.contains(focus)) ||
      Boolean($("input[type=checkbox]:checked", region)) || (selection && !selection.isCollapsed && selection.containsNode(region, true)));
  }
  function showPending() {
    const pill = $("#pending");
    pill.hidden = !pending.size;
    const many = `${pending.size} change${pending.size === 1 ? "" : "s"}`;
    $("[data-pending-text]", pill).textContent = frozen || orderHeld() ? `Order held, ${many}` : many;
  }
  function rows({ appeared = [], left = [] }) {
    for (const id of [...appeared, ...left]) pending.add(id);
    for (const id of left) document.getElementById(id)?.classList.add("ghost");
    showPending();
  }
  let reading = null;
  async function refresh({ force = false } = {}) {
    if (reading) return reading;
    reading = (async () => {
      const urls = new Map();
      for (const region of regions()) {
        const url = region.dataset.refreshUrl || location.pathname + location.search;
        urls.set(url, [...(urls.get(url) || []), region.id]);
      }
      if (!urls.size && page) urls.set(location.pathname + location.search, []);
      for (const [url, ids] of urls) {
        const answer = await fetch(url, { headers: { "X-Crewlet-Region": "1" }, credentials: "same-origin" });
        if (answer.redirected && new URL(answer.url).pathname.startsWith("/sign-in")) return signedOut();
        if (!answer.ok && answer.status !== 404) throw new Error(String(answer.status));
        apply(new DOMParser().parseFromString(await answer.text(), "text/html"), ids, force);
      }
      return undefined;
    })();
    try { return await reading; } finally { reading = null; }
  }
  function apply(doc, ids, force) {
    setClock(doc.documentElement.dataset.now);
    const still = !force && orderHeld();
    for (const id of ids) {
      const fresh = doc.getElementById(id);
      const old = document.getElementById(id);
      if (!fresh || !old) continue;
      if (!still && !busy(old)) {
        patch(id, fresh);
        continue;
      }
      const before = new Set($$("[data-row][id]", old).map((row) => row.id));
      const after = new Set($$("[data-row][id]", fresh).map((row) => row.id));
      rows({ appeared: [...after].filter((row) => !before.has(row)), left: [...before].filter((row) => !after.has(row)) });
      for (const element of $$("[data-fact][id], .banner[id], [data-cell][id]", fresh)) patch(element.id, element);
    }
    for (const element of $$("[data-fact][id]", doc)) if (!element.closest("[data-topic]")) patch(element.id, element);
    if (!still) {
      pending.clear();
      showPending();
    }
  }
  async function applyPending() {
    pending.clear();
    showPending();
    try { await refresh({ force: true }); } catch { /* the chip already says that nothing answers */ }
    say("Changes applied");
  }
  let movedAt = performance.now();
  for (const name of ["pointermove", "keydown", "scroll"]) addEventListener(name, () => { movedAt = performance.now(); }, { passive: true });
  setInterval(() => {
    if (pending.size && performance.now() - movedAt > IDLE && scrollY < 8 && !orderHeld() && state === "live") applyPending();
    else if (pending.size) showPending();
  }, 1000);
  function freeze() {
    frozen = !frozen;
    for (const button of $$("[data-freeze]")) button.setAttribute("aria-pressed", String(frozen));
    say(frozen ? "Order held" : "Order follows changes");
    showPending();
  }

  /* --- the chip: the only place that speaks for the connection ------------------------------- */
  const READINGS = { live: ["ok", "Live"], polling: ["half", "Polling"], store: ["diamond", "Store not answering"], disconnected: ["cross", "Disconnected"] };
  let state = "loaded", store = null, sources = null, retryAt = 0, silentSince = 0;
  function timeTag(iso, form) {
    const time = document.createElement("time");
    time.dateTime = iso;
    if (form) time.dataset.form = form;
    time.textContent = words(Date.parse(iso), form || "ago");
    return time;
  }
  function note(...parts) {
    const box = $("[data-chip-note]");
    const fresh = document.createElement("span");
    for (const part of parts) fresh.append(part);
    if (fresh.textContent !== box.textContent) box.replaceChildren(...fresh.childNodes);
  }
  function quiet(text) {
    const k = document.createElement("span");
    k.className = "k";
    k.textContent = text;
    return k;
  }
  function drawChip() {
    const chip = $("#chip");
    if (!chip || state === "loaded") return;
    const reading = state === "live" && store && store.state === "down" ? "store" : state;
    const [shape, word] = READINGS[reading];
    if (chip.dataset.reading !== reading) {
      const was = chip.dataset.reading;
      chip.dataset.reading = reading;
      const svg = $(".chip-shape .i", chip);
      svg.setAttribute("class", `i i-${shape}`);
      $("use", svg).setAttribute("href", `#s-${shape}`);
      $("[data-chip-word]", chip).textContent = word;
      document.title = reading === "live" ? title : `${title} (not live)`;
      if (reading === "disconnected") alarm("Disconnected. Facts on this page keep ageing.");
      else if (was !== "loaded" || reading !== "live") say(reading === "live" ? "Live again" : word);
    }
    if (reading === "live") note(quiet("store answered "), store && store.answered_at ? timeTag(store.answered_at) : "now");
    else if (reading === "polling") note("every 15 s");
    else if (reading === "store") note(...(store.since ? ["since ", timeTag(store.since, "at"), quiet(", "), Object.assign(quiet(""), { textContent: words(Date.parse(store.since), "span") })] : []));
    else note(navigator.onLine ? `retry in ${Math.max(0, Math.ceil((retryAt - performance.now()) / 1000))} s` : "this computer is offline");
    $("[data-chip-about]", chip).textContent = {
      live: "Changes arrive as they happen.", polling: "There is no live connection; this page is read again every 15 s.",
      store: store && store.answered_at ? `The store could not be asked; its last answer came ${words(Date.parse(store.answered_at), "ago")}.` : "The store could not be asked, and never answered this process.",
      disconnected: "This page cannot reach the dashboard. What you see is the last it was told.",
    }[reading];
  }
  function drawSources() {
    const box = $("[data-sources]");
    if (!box || !sources) return;
    box.replaceChildren(...sources.map((source) => {
      const row = document.createElement("tr");
      const name = document.createElement("th");
      const at = document.createElement("td");
      name.scope = "row";
      name.textContent = source.name;
      if (source.answered_at) at.append(source.state === "live" || source.state === "up" ? "" : "last ", timeTag(source.answered_at));
      else at.textContent = "never answered";
      row.append(name, at);
      return row;
    }));
  }

  /* --- the socket ----------------------------------------------------------------------------- */
  let socket = null, fails = 0, timer = 0, heardAt = 0, openedAt = 0, hiddenAt = 0, ended = false, reopened = false, pollAt = 0;
  function heard() {
    heardAt = performance.now();
    if (state !== "live") {
      state = "live";
      $("#alarm").textContent = "";
    }
    drawChip();
  }
  function topicGap({ topic, rev, prev_rev: before }) {
    const known = revs.get(topic);
    revs.set(topic, rev);
    return known !== undefined && before !== undefined && before !== null && before !== known;
  }
  function reread() {
    refresh().catch(() => { pollAt = 0; });
  }
  const FRAMES = {
    clock(frame) {
      setClock(frame.server_time);
      store = frame.store;
      sources = frame.sources;
      drawSources();
    },
    cells(frame) {
      const gap = topicGap(frame);
      for (const [id, html] of Object.entries(frame.cells || {})) {
        const fresh = parse(html);
        if (fresh) patch(id, fresh);
      }
      say(frame.say);
      if (gap) reread();
    },
    rows(frame) {
      const gap = topicGap(frame);
      rows(frame);
      if (gap) reread();
    },
    resync(frame) {
      revs.delete(frame.topic);
      reread();
    },
  };
  function connect() {
    clearTimeout(timer);
    if (!page || ended || (socket && socket.readyState < 2)) return;
    const url = new URL("/ws/live/", location.href);
    url.protocol = location.protocol === "https:" ? "wss:" : "ws:";
    const mine = new WebSocket(url);
    socket = mine;
    mine.onopen = () => {
      openedAt = heardAt = performance.now();
      revs.clear();
      mine.send(JSON.stringify({ kind: "hello", page, subject: root.dataset.subject || "", query: location.search.slice(1) }));
      if (reopened) reread();
      reopened = true;
    };
    mine.onmessage = (event) => {
      if (mine !== socket) return;
      const frame = JSON.parse(event.data);
      FRAMES[frame.kind]?.(frame);
      heard();
    };
    mine.onclose = (event) => { if (mine === socket) closed(event.code); };
  }
  function closed(code) {
    socket = null;
    if (ended) return;
    if (code === 4401) return signedOut();
    if (code === 4403) return location.reload();
    if (code === 4409) return newerBuild();
    if (openedAt && performance.now() - openedAt > HEALTHY) fails = 0;
    openedAt = 0;
    fails += 1;
    const ceiling = Math.min(30000, 500 * 2 ** (fails - 1));
    const wait = Math.random() * ceiling;
    retryAt = performance.now() + wait;
    timer = setTimeout(connect, wait);
    // A restart is answered by a quiet retry; everything else is said once it has lasted.
    if (fails > 1 || (code !== 1012 && code !== 1013 && heardAt)) lost();
    return undefined;
  }
  function lost() {
    if (state === "live" || state === "loaded") {
      state = fails >= 3 && polled ? "polling" : "disconnected";
      silentSince = performance.now();
    }
    drawChip();
  }
  function retryNow() {
    if (ended) return;
    fails = Math.min(fails, 2);
    if (socket) {
      const old = socket;
      socket = null;
      old.close();
    }
    connect();
  }
  let polled = false;
  async function poll() {
    pollAt = performance.now();
    try {
      await refresh();
      polled = true;
      if (state !== "live") state = "polling";
    } catch {
      polled = false;
      if (state !== "live") state = "disconnected";
    }
    drawChip();
  }
  setInterval(() => {
    if (!page || ended) return;
    const t = performance.now();
    if (socket && socket.readyState === 1 && t - heardAt > SILENCE) {
      const mute = socket;
      socket = null;
      mute.close();
      state = "disconnected";
      closed(1006);
    }
    if (fails >= 3 && state !== "live" && t - pollAt > POLL && !document.hidden) poll();
    if (document.hidden && hiddenAt && t - hiddenAt > HIDDEN && socket) {
      const idle = socket;
      socket = null;
      idle.close();
    }
    drawChip();
  }, 1000);
  document.addEventListener("visibilitychange", () => {
    hiddenAt = document.hidden ? performance.now() : 0;
    if (!document.hidden && (!socket || socket.readyState !== 1)) retryNow();
  });
  addEventListener("online", retryNow);
  addEventListener("offline", () => { state = "disconnected"; drawChip(); });
  addEventListener("pageshow", (event) => { if (event.persisted) { retryNow(); reread(); } });

  function notice(tone, head, text, action) {
    const box = $("#notices");
    const banner = document.createElement("div");
    banner.className = `banner b-${tone}`;
    const words = document.createElement("div");
    words.className = "banner-text";
    const bold = document.createElement("b");
    bold.textContent = head;
    const line = document.createElement("p");
    line.textContent = text;
    words.append(bold, line);
    const aside = document.createElement("div");
    aside.className = "banner-aside";
    aside.append(action);
    banner.append(words, aside);
    box.replaceChildren(banner);
    box.hidden = false;
    alarm(`${head}. ${text}`);
  }
  function signedOut() {
    ended = true;
    state = "disconnected";
    const link = Object.assign(document.createElement("a"), { className: "button small", href: `/sign-in/?next=${encodeURIComponent(location.pathname + location.search)}`, target: "_blank", rel: "noopener", textContent: "Sign in" });
    notice("warn", "You are signed out", "Sign in in a new tab; what you typed here is kept. Then reload this page.", link);
    drawChip();
  }
  function newerBuild() {
    ended = true;
    state = "disconnected";
    const button = Object.assign(document.createElement("button"), { className: "button small", type: "button", textContent: "Reload" });
    button.onclick = () => location.reload();
    notice("note", "A new version is available", "This page stays as it is until you reload it.", button);
    drawChip();
  }

  document.addEventListener("click", (event) => {
    if (event.target.closest("[data-apply]")) applyPending();
    if (event.target.closest("[data-retry]")) retryNow();
    if (event.target.closest("[data-freeze]")) freeze();
  });
  Object.assign(window.crewlet, { say, alarm, refresh, applyPending, freeze, morph, parse });
  connect();
})();
