/* Acts that work as pages first, and single keys. */
const { $, $$, make, draw, say, refresh, focusOn, keep, MENUS } = crewlet;
const root = document.documentElement;
const sheet = $("#sheet"), legend = $("#keys"), shelf = $("#toasts");
const TOAST = 10000, GO = 1500, headers = { "X-Crewlet-Dialog": "1" };
let opener = null, row = null, formUrl = "", typed = false, sending = false;

/* A page's form region, shown in the sheet. */
const parse = (html) => new DOMParser().parseFromString(html, "text/html");
const path = (url) => new URL(url, location).pathname;
const formOf = (doc) => $("[data-form-region]", doc);
function notice(form, id, ...more) {
  const box = $(id).content.firstElementChild.cloneNode(true);
  box.append(...more);
  form.prepend(box);
}
function fill(form, url) {
  formUrl = url;
  typed = false;
  sheet.replaceChildren(form);
  draw(sheet);
  counters(sheet);
  if (!sheet.open) sheet.showModal();
  focusOn($("[data-focus], [autofocus], [aria-invalid=true]", sheet) || $("textarea, h2", sheet) || sheet);
}
async function open(url) {
  const form = await fetch(url, { headers }).then((answer) => answer.text()).then((html) => formOf(parse(html)), () => null);
  if (form) fill(form, url);
  else location.assign(url);
}
sheet.addEventListener("close", () => {
  sheet.replaceChildren();
  if (opener) focusOn([opener.id && document.getElementById(opener.id), opener, row].find((node) => node?.isConnected) || $("#content"));
  opener = null;
});
sheet.addEventListener("cancel", (event) => { if (typed && !confirm("Discard what you typed?")) event.preventDefault(); });
sheet.addEventListener("input", () => { typed = true; });
document.addEventListener("crewlet:changed", ({ detail }) => {
  if (!sheet.open || detail !== row || $("[data-notice]", sheet)) return;
  notice($("form", sheet), "#changed", make("button", { type: "button", className: "button small", onclick: () => open(formUrl) }, "Refresh"));
});

function inert(form, on, button) {
  for (const each of form.elements) if (each.localName === "button") each.ariaDisabled = on;
  if (!button?.dataset.busy) return;
  button.dataset.word ||= button.textContent;
  button.textContent = on ? button.dataset.busy : button.dataset.word;
}
async function send(form, button) {
  if (sending) return;
  sending = true;
  const action = form.getAttribute("action") || (sheet.contains(form) ? formUrl : location.href);
  const body = new URLSearchParams(new FormData(form, button));
  inert(form, true, button);
  $("[data-notice]", form)?.remove();
  try {
    const answer = await fetch(action, { method: "POST", body, headers });
    settle(form, parse(await answer.text()), answer.url, action);
  } catch {
    notice(form, "#no-answer");
  }
  inert(form, false, button);
  sending = false;
}
function settle(form, doc, landed, action) {
  const done = path(landed) !== path(action), fresh = formOf(doc);
  if (done) {
    form.closest("[data-toast]")?.remove();
    typed = false;
    sheet.close();
    for (const toast of $$("[data-toast]", doc)) {
      shelf.append(toast);
      linger(toast);
      say($("p", toast).textContent);
    }
    refresh(true);
  } else if (fresh) {
    if (!sheet.open) opener = document.activeElement;
    fill(fresh, landed);
  } else {
    notice(form, "#not-done", ($("main", doc) || doc.body).textContent.trim().replace(/\s+/g, " ").slice(0, 300));
  }
}
function linger(toast) {
  let timer = 0;
  const start = () => { clearTimeout(timer); timer = setTimeout(() => toast.remove(), TOAST); };
  for (const name of ["pointerenter", "focusin"]) toast.addEventListener(name, () => clearTimeout(timer));
  for (const name of ["pointerleave", "focusout"]) toast.addEventListener(name, start);
  start();
}

function copy(text) {
  navigator.clipboard.writeText(text).then(() => say("Copied"), () => say("This browser did not allow copying"));
}
function counters(scope) {
  for (const field of $$("[data-count]", scope)) document.getElementById(field.dataset.count).textContent = `${[...field.value].length} of ${field.maxLength}`;
}
document.addEventListener("click", (event) => {
  const hit = (selector) => event.target.closest(selector);
  const link = hit("a[data-dialog]"), close = hit("[data-close]"), filler = hit("[data-fill]");
  if (hit('[aria-disabled="true"]')) return event.preventDefault();
  if (link && !event.ctrlKey && !event.metaKey && !event.shiftKey) {
    event.preventDefault();
    opener = link;
    row = link.closest("[data-row]");
    open(link.href);
  }
  if (close?.closest("dialog")) {
    event.preventDefault();
    close.closest("dialog").close();
  }
  if (filler) {
    const field = $(filler.dataset.fill);
    field.value = filler.dataset.text || filler.textContent.trim();
    field.dispatchEvent(new Event("input", { bubbles: true }));
    field.focus();
  }
  hit("[data-dismiss]")?.closest("[data-toast]").remove();
  if (hit("[data-copy]")) copy(hit("[data-copy]").dataset.copy || location.href);
  if (hit("[data-legend]")) legend.showModal();
  if (hit("[data-keys-switch]")) setKeys(root.dataset.keys === "off");
  for (const menu of $$(MENUS)) if (!menu.contains(event.target)) menu.open = false;
});
document.addEventListener("submit", (event) => {
  const form = event.target;
  if (form.method !== "post" || !(form.matches("[data-async]") || sheet.contains(form))) return;
  event.preventDefault();
  send(form, event.submitter);
});
document.addEventListener("input", ({ target }) => { if (target.matches("[data-count]")) counters(target.parentElement); });

/* Single keys. */
let goingAt = -GO;
const current = () => document.activeElement.closest("[data-row]");
function move(step) {
  const list = $$("[data-row]").filter((each) => each.getClientRects().length);
  const at = list.indexOf(current());
  const next = list[at < 0 ? 0 : Math.max(0, Math.min(list.length - 1, at + step))];
  if (!next) return;
  focusOn(next);
  next.scrollIntoView({ block: "nearest" });
}
function act(name) {
  const control = $(`[data-act="${name}"]:not([aria-disabled="true"], [disabled])`, current() || $("#content"));
  if (control) control.click();
  else say(`Nothing here to ${name}`);
}
function nextZone() {
  const select = $("[data-timezone]"), modes = [...select.options].map((option) => option.value);
  crewlet.setZone(modes[(modes.indexOf(root.dataset.tz) + 1) % modes.length]);
  say(`Times in ${select.selectedOptions[0].textContent}`);
}
function setKeys(on) {
  root.dataset.keys = on ? "on" : "off";
  keep("keys", root.dataset.keys);
  $("[data-keys-switch]").textContent = `Turn single keys ${on ? "off" : "on"}`;
}
const KEYS = {
  "?": () => legend.showModal(),
  "/": () => $("[data-search]")?.focus(),
  j: () => move(1),
  k: () => move(-1),
  p: () => act("pause"),
  r: () => act("resume"),
  ".": crewlet.applyPending,
  f: crewlet.freeze,
  y: () => copy(location.href),
  t: nextZone,
  g: () => { goingAt = performance.now(); },
};
const ROW_KEYS = {
  ArrowDown: () => move(1),
  ArrowUp: () => move(-1),
  Enter: () => $("a[data-open], th a, td a", current())?.click(),
};
document.addEventListener("keydown", (event) => {
  const { key, target } = event, menu = $(MENUS);
  if (key === "Escape" && target.matches("[data-search]")) {
    target.value = "";
    target.dispatchEvent(new Event("input", { bubbles: true }));
    target.blur();
  } else if (key === "Escape" && menu) {
    menu.open = false;
    $("summary", menu).focus();
  }
  if (event.ctrlKey || event.metaKey || event.altKey || $("dialog[open]") || target.closest("input, select, textarea")) return;
  const going = performance.now() - goingAt < GO && $(`.place[data-key="${CSS.escape(key)}"]`);
  const run = target.matches("[data-row]") && ROW_KEYS[key] || root.dataset.keys !== "off" && (going ? () => going.click() : KEYS[key]);
  if (!run) return;
  event.preventDefault();
  goingAt = -GO;
  run();
});

setKeys(root.dataset.keys !== "off");
counters(document);
$$("[data-toast]").forEach(linger);
$("[data-focus]")?.focus();
