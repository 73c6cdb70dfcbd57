/* Small acts that work as pages first: forms in a dialog, one-press forms, copy, show, counters, menus. */
"use strict";

(() => {
  document.documentElement.classList.add("js");
  const crewlet = window.crewlet || {};
  const say = crewlet.say || ((text) => { const box = document.getElementById("say"); if (box) box.textContent = text; });
  const sheet = document.getElementById("sheet");
  const TOAST = 10000;
  let opener = null, formUrl = "", typed = false, sending = false;

  const fill = (node) => { sheet.replaceChildren(node); crewlet.draw?.(sheet); counters(sheet); };
  const formOf = (doc) => doc.querySelector("[data-form-region]");
  const parse = (html) => new DOMParser().parseFromString(html, "text/html");
  const path = (url) => new URL(url, location.href).pathname;

  function says(head, text, action) {
    const box = document.createElement("div");
    box.className = "banner b-unknown";
    box.setAttribute("role", "alert");
    box.dataset.noAnswer = "";
    const words = document.createElement("div");
    words.className = "banner-text";
    const bold = document.createElement("b");
    bold.textContent = head;
    const line = document.createElement("p");
    line.textContent = text;
    words.append(bold, line);
    box.append(words);
    if (action) box.append(action);
    return box;
  }

  /* --- forms in the sheet ---------------------------------------------------------------------- */
  async function open(link) {
    opener = link;
    formUrl = link.href;
    let doc;
    try {
      const answer = await fetch(link.href, { credentials: "same-origin", headers: { "X-Crewlet-Dialog": "1" } });
      doc = parse(await answer.text());
    } catch {
      location.assign(link.href);
      return;
    }
    const form = formOf(doc);
    if (!form) {
      location.assign(link.href);
      return;
    }
    typed = false;
    fill(form);
    sheet.showModal();
    (sheet.querySelector("[autofocus], textarea, input:not([type=hidden])") || sheet).focus();
  }
  function close() {
    if (!sheet.open) return;
    sheet.close();
  }
  function back() {
    sheet.replaceChildren();
    if (!opener) return;
    const row = opener.closest("[data-row]");
    const target = document.getElementById(opener.id) || (opener.isConnected ? opener : null) || (row && document.getElementById(row.id));
    (target || document.getElementById("content"))?.focus({ preventScroll: true });
    opener = null;
  }
  if (sheet) {
    sheet.addEventListener("close", back);
    sheet.addEventListener("cancel", (event) => { if (typed && !confirm("Discard what you typed?")) event.preventDefault(); });
    sheet.addEventListener("input", () => { typed = true; });
  }

  function toastsFrom(doc) {
    const shelf = document.getElementById("toasts");
    if (!shelf || !doc) return;
    for (const toast of doc.querySelectorAll("[data-toast]")) {
      shelf.append(toast);
      keepFor(toast);
      say(toast.querySelector("p").textContent);
    }
  }
  function keepFor(toast) {
    let timer = 0;
    const start = () => { timer = setTimeout(() => toast.remove(), TOAST); };
    const stop = () => clearTimeout(timer);
    for (const name of ["pointerenter", "focusin"]) toast.addEventListener(name, stop);
    for (const name of ["pointerleave", "focusout"]) toast.addEventListener(name, () => { stop(); start(); });
    start();
  }

  function inert(form, on, button) {
    for (const each of form.querySelectorAll("button, input[type=submit]")) each.setAttribute("aria-disabled", String(on));
    if (!button) return;
    if (on) {
      button.dataset.word = button.textContent;
      if (button.dataset.busy) button.textContent = button.dataset.busy;
    } else if (button.dataset.word) button.textContent = button.dataset.word;
  }
  async function send(form, button) {
    if (sending) return;
    sending = true;
    const inSheet = Boolean(sheet && sheet.contains(form));
    const action = form.getAttribute("action") || (inSheet ? formUrl : location.href);
    const body = new URLSearchParams(new FormData(form));
    if (button && button.name) body.append(button.name, button.value);
    inert(form, true, button);
    form.querySelector("[data-no-answer]")?.remove();
    let doc = null, landed = "", answered = false;
    try {
      const answer = await fetch(action, { method: "POST", body, credentials: "same-origin", headers: { "X-Crewlet-Dialog": "1" } });
      landed = answer.url;
      doc = parse(await answer.text());
      answered = true;
    } catch {
      form.prepend(says("No answer came back", "It may or may not have been recorded. Pressing the button again sends the same request, so it cannot happen twice."));
    }
    inert(form, false, button);
    sending = false;
    if (answered) settle(form, doc, landed, action, inSheet);
  }
  function settle(form, doc, landed, action, inSheet) {
    const fresh = formOf(doc);
    if (fresh && path(landed) === path(action)) {
      if (sheet) {
        if (!sheet.open) opener = document.activeElement;
        formUrl = landed;
        fill(fresh);
        if (!sheet.open) sheet.showModal();
        (sheet.querySelector("[data-focus], [autofocus], [aria-invalid=true]") || sheet.querySelector("h2"))?.focus();
      }
      return;
    }
    if (path(landed) !== path(action)) {
      form.closest("[data-toast]")?.remove();
      typed = false;
      if (inSheet) close();
      toastsFrom(doc);
      crewlet.refresh?.({ force: true }).catch(() => undefined);
      return;
    }
    const main = doc.querySelector("main");
    const words = main ? main.innerText || main.textContent.trim() : "";
    const text = words.replace(/\s+/g, " ").slice(0, 300) || "The dashboard could not do this.";
    form.prepend(says("This was not done", text));
  }

  /* --- delegation -------------------------------------------------------------------------------- */
  document.addEventListener("click", (event) => {
    const hit = (selector) => event.target.closest(selector);
    if (hit('[aria-disabled="true"]')) {
      event.preventDefault();
      return;
    }
    const plain = !event.ctrlKey && !event.metaKey && !event.shiftKey && event.button === 0;
    const link = hit("a[data-dialog]");
    if (link && sheet && plain) {
      event.preventDefault();
      open(link);
      return;
    }
    if (sheet && hit("#sheet [data-close]")) {
      event.preventDefault();
      close();
      return;
    }
    if (hit("[data-close]")) hit("dialog")?.close();
    hit("[data-dismiss]")?.closest("[data-toast]").remove();
    const copy = hit("[data-copy]");
    if (copy) copyText(copy.dataset.copy || location.href);
    const suggestion = hit("[data-fill]");
    if (suggestion) {
      const field = document.querySelector(suggestion.dataset.fill);
      field.value = suggestion.dataset.text || suggestion.textContent.trim();
      field.dispatchEvent(new Event("input", { bubbles: true }));
      field.focus();
    }
    const reveal = hit("[data-reveal]");
    if (reveal) {
      const field = document.getElementById(reveal.dataset.reveal);
      const shown = field.type === "text";
      field.type = shown ? "password" : "text";
      reveal.textContent = shown ? "Show" : "Hide";
      reveal.setAttribute("aria-pressed", String(!shown));
    }
    for (const menu of document.querySelectorAll("details.chip[open], details.account[open], details.row-menu[open]")) {
      if (!menu.contains(event.target)) menu.open = false;
    }
  });
  document.addEventListener("submit", (event) => {
    const form = event.target;
    if (form.getAttribute("method")?.toLowerCase() !== "post") return;
    if (form.matches("[data-async]") || (sheet && sheet.contains(form))) {
      event.preventDefault();
      send(form, event.submitter);
      return;
    }
    // A page's own form: a second press does not post again.
    if (form.dataset.sent) event.preventDefault();
    form.dataset.sent = "1";
    setTimeout(() => { delete form.dataset.sent; }, 10000);
  });
  async function copyText(text) {
    try {
      await navigator.clipboard.writeText(text);
      say("Copied");
    } catch {
      say("This browser did not allow copying");
    }
  }
  function counters(scope) {
    for (const field of scope.querySelectorAll("[data-count]")) {
      const box = document.getElementById(field.dataset.count);
      if (box) box.textContent = `${[...field.value].length} of ${field.maxLength}`;
    }
  }
  document.addEventListener("input", (event) => { if (event.target.matches("[data-count]")) counters(event.target.parentElement); });
  counters(document);
  document.querySelectorAll("[data-toast]").forEach(keepFor);
  document.querySelector("[data-focus]")?.focus();
  Object.assign(crewlet, { copyText });
})();
