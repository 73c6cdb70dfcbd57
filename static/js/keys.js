/* Single keys (off inside fields, and off for good by one switch); each has a visible control too. */
"use strict";

(() => {
  const root = document.documentElement;
  const crewlet = window.crewlet;
  const legend = document.getElementById("keys");
  const $ = (selector, scope = document) => scope.querySelector(selector);
  let going = 0;

  const rows = () => [...document.querySelectorAll("[data-row]")].filter((row) => row.offsetParent !== null || row.getClientRects().length);
  const current = () => document.activeElement?.closest("[data-row]");
  function move(step) {
    const list = rows();
    if (!list.length) return;
    const at = list.indexOf(current());
    const next = list[Math.max(0, Math.min(list.length - 1, at < 0 ? (step > 0 ? 0 : list.length - 1) : at + step))];
    next.tabIndex = -1;
    next.focus();
    next.scrollIntoView({ block: "nearest" });
  }
  function act(name) {
    const scope = current() || document.getElementById("content");
    const control = $(`[data-act="${name}"]:not([aria-disabled="true"], [disabled])`, scope);
    if (control) control.click();
    else crewlet.say(`Nothing here to ${name}`);
  }
  function zone() {
    const select = $("[data-timezone]");
    if (!select) return;
    const modes = [...select.options].map((option) => option.value);
    const mode = modes[(modes.indexOf(root.dataset.tz) + 1) % modes.length];
    crewlet.setZone(mode);
    crewlet.say(`Times in ${select.selectedOptions[0].textContent}`);
  }
  function show() {
    if (!legend.open) legend.showModal();
  }
  function closeTop() {
    const menu = $("details.chip[open], details.account[open], details.row-menu[open]");
    if (!menu) return false;
    menu.open = false;
    $("summary", menu).focus();
    return true;
  }
  const KEYS = {
    "?": show,
    "/": () => $("[data-search]")?.focus(),
    j: () => move(1),
    k: () => move(-1),
    ArrowDown: () => current() && move(1),
    ArrowUp: () => current() && move(-1),
    Enter: () => document.activeElement === current() && $("a[data-open], th a, td a", current())?.click(),
    p: () => act("pause"),
    r: () => act("resume"),
    ".": () => crewlet.applyPending(),
    f: () => crewlet.freeze(),
    y: () => crewlet.copyText($("link[rel=canonical]")?.href || location.href),
    t: zone,
    g: () => { going = performance.now(); },
  };
  const PLAIN = new Set(["Enter", "ArrowDown", "ArrowUp"]);

  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") {
      const field = document.activeElement;
      if (field?.matches("[data-search]")) {
        field.value = "";
        field.dispatchEvent(new Event("input", { bubbles: true }));
        field.blur();
      } else if (closeTop()) event.preventDefault();
      return;
    }
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented || $("dialog[open]")) return;
    if (event.target.closest("input, select, textarea, [contenteditable]")) return;
    if (!PLAIN.has(event.key) && root.dataset.keys === "off") return;
    if (going && performance.now() - going < 1500) {
      going = 0;
      const place = $(`.place[data-key="${CSS.escape(event.key)}"]`);
      if (place) {
        event.preventDefault();
        place.click();
        return;
      }
    }
    const key = KEYS[event.key];
    if (!key || (PLAIN.has(event.key) && !current())) return;
    if (event.key !== "Enter" || document.activeElement === current()) event.preventDefault();
    key();
  });
  function setKeys(on) {
    root.dataset.keys = on ? "on" : "off";
    document.cookie = `keys=${on ? "on" : "off"}; path=/; max-age=31536000; samesite=lax`;
    drawSwitch();
    crewlet.say(on ? "Single keys are on" : "Single keys are off");
  }
  function drawSwitch() {
    for (const button of document.querySelectorAll("[data-keys-switch]")) button.textContent = root.dataset.keys === "off" ? "Turn single keys on" : "Turn single keys off";
  }
  document.addEventListener("click", (event) => {
    if (event.target.closest("[data-legend]")) show();
    if (event.target.closest("[data-keys-switch]")) setKeys(root.dataset.keys === "off");
  });
  drawSwitch();
})();
