// morph makes old look like fresh, and touches only what differs: what has the focus,
// is selected or scrolled stays as it is. Children with the same data-key, id or
// data-still are the same; inside data-still, which people or other scripts change,
// nothing is touched.
export function morph(old, fresh) {
  if (old.dataset?.still !== undefined && old.dataset.still === fresh.dataset?.still) return;
  for (const { name } of [...old.attributes]) {
    if (!fresh.hasAttribute(name) && name !== "open" && name !== "tabindex") old.removeAttribute(name);
  }
  for (const { name, value } of fresh.attributes) {
    if (old.getAttribute(name) !== value) old.setAttribute(name, value);
  }
  const keyed = new Map();
  for (const child of old.children) {
    const key = keyOf(child);
    if (key) keyed.set(key, child);
  }
  let here = old.firstChild;
  for (const want of [...fresh.childNodes]) {
    const same = keyOf(want) ? keyed.get(keyOf(want)) : alike(here, want) ? here : null;
    if (!same) {
      old.insertBefore(want, here);
      continue;
    }
    if (same !== here) old.insertBefore(same, here);
    else here = here.nextSibling;
    if (want.nodeType === Node.ELEMENT_NODE) morph(same, want);
    else if (same.data !== want.data) same.data = want.data;
    keyed.delete(keyOf(want));
  }
  while (here) {
    const next = here.nextSibling;
    here.remove();
    here = next;
  }
}

function keyOf(node) {
  if (node.nodeType !== Node.ELEMENT_NODE) return "";
  return node.dataset?.key ?? node.dataset?.still ?? node.id ?? "";
}

function alike(a, b) {
  return a && a.nodeType === b.nodeType && a.nodeName === b.nodeName && !keyOf(a);
}
