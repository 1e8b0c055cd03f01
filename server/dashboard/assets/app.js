// What works without JavaScript works better with it: the page follows what happens,
// filters as you type, and asks for a confirmation to be complete before it is sent.
import { pause, refresh, start } from "./live.js";
import { redraw } from "./charts.js";
import * as whole from "./whole.js";

for (const e of document.querySelectorAll(".scripted")) e.hidden = false;

const themes = ["auto", "light", "dark"];
const themeName = document.getElementById("theme-name");

function theme() {
  return document.documentElement.dataset.theme ?? "auto";
}
function showTheme() {
  themeName.textContent = theme()[0].toUpperCase() + theme().slice(1);
}
function nextTheme() {
  const next = themes[(themes.indexOf(theme()) + 1) % themes.length];
  if (next === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = next;
  try { localStorage.setItem("holdfast-theme", next); } catch { /* for this page only */ }
  showTheme();
  redraw();
}
showTheme();
document.getElementById("theme").addEventListener("click", nextTheme);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
document.getElementById("live").addEventListener("click", pause);

// Filters: the form's own query becomes the page's, without what is at its default.
let typed;
function filter(form) {
  const url = new URL(location.href);
  for (const [key, value] of new FormData(form)) {
    if (value && form.elements[key].type !== "hidden") url.searchParams.set(key, value);
    else if (form.elements[key].type !== "hidden") url.searchParams.delete(key);
  }
  url.searchParams.delete("page");
  history.replaceState(null, "", url);
  refresh();
}
document.addEventListener("input", (event) => {
  const form = event.target.closest("form.filter");
  if (!form || form.method === "post") return confirmed(event.target.closest("details form"));
  clearTimeout(typed);
  typed = setTimeout(() => filter(form), 150);
});
document.addEventListener("submit", (event) => {
  if (event.target.matches("form.filter[method=get]")) {
    event.preventDefault();
    filter(event.target);
  }
});

// The button of a dangerous form waits until the name is typed and the holder chosen.
function confirmed(form) {
  if (!form) return;
  const typed = form.elements.confirm, reason = form.elements.reason;
  form.querySelector("button").disabled = typed.value !== typed.dataset.want && typed.value !== form.elements.name.value || !reason.value.trim() || !form.elements.tenure.value;
}
for (const form of document.querySelectorAll("details form")) confirmed(form);

document.addEventListener("keydown", (event) => {
  const field = event.target.closest("input, select, textarea");
  if (event.key === "Escape" && field) field.blur();
  if (field || event.ctrlKey || event.metaKey || event.altKey) return;
  const key = { "/": () => document.getElementById("filter")?.focus(), p: pause, t: nextTheme }[event.key];
  if (!key) return;
  event.preventDefault();
  key();
});

// On a narrow screen the navigation is a strip: what is current stays in sight.
document.querySelector("#nav [aria-current]")?.scrollIntoView({ inline: "center", block: "nearest" });

start();
whole.start();
