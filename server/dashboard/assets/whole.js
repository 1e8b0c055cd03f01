// Text that a table cuts off: the pointer on it, or the focus, shows all of it.
const box = document.createElement("div");
let anchor = null; // what the box is for

const cut = (e) => e.scrollWidth > e.clientWidth;
const cuttable = (e) => e?.closest?.(".rows .cut");

function show(e) {
  anchor = e && cut(e) ? e : null;
  box.hidden = !anchor;
  if (anchor) place();
}

function place() {
  if (box.textContent !== anchor.innerText) box.textContent = anchor.innerText;
  const at = anchor.getBoundingClientRect(), low = at.bottom + box.offsetHeight > innerHeight;
  box.style.left = Math.max(4, Math.min(at.left, document.documentElement.clientWidth - box.offsetWidth - 4)) + "px";
  box.style.top = (low ? at.top - box.offsetHeight : at.bottom) + "px";
}

// follow is called when the page has changed: what is cut now can get the focus.
export function follow() {
  const all = [...document.querySelectorAll(".rows .cut")].filter((e) => !e.href), are = all.map(cut);
  all.forEach((e, i) => (are[i] ? e.setAttribute("tabindex", "0") : e.removeAttribute("tabindex")));
  if (anchor) show(anchor.isConnected ? anchor : null);
}

export function start() {
  box.id = "whole";
  box.hidden = true;
  box.setAttribute("role", "tooltip");
  document.body.append(box);
  document.addEventListener("pointerover", (event) => {
    if (!box.contains(event.target)) show(cuttable(event.target) ?? cuttable(document.activeElement));
  });
  document.addEventListener("focusin", (event) => show(cuttable(event.target)));
  document.addEventListener("focusout", () => show(null));
  document.addEventListener("keydown", (event) => { if (event.key === "Escape") show(null); });
  document.addEventListener("scroll", () => anchor && place(), true);
  addEventListener("resize", follow);
  follow();
}
