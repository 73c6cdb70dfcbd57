/* Pages without the frame: show the password. */
document.documentElement.classList.add("js");
document.addEventListener("click", ({ target }) => {
  if (!target.matches("[data-reveal]")) return;
  const field = document.getElementById(target.dataset.reveal), shown = field.type === "text";
  field.type = shown ? "password" : "text";
  target.textContent = shown ? "Show" : "Hide";
});
document.querySelector("[data-focus]")?.focus();
