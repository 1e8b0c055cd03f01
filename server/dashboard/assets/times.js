// Times that run: what is left, how long something is held, how long ago it was.
// Everything counts from what the server said, by this machine's steady clock.
const born = new WeakMap();

function started(element, value) {
  let known = born.get(element);
  if (!known || known.value !== value) born.set(element, (known = { value, at: performance.now() }));
  return known.at;
}

// length is the same as in text.go.
export function length(ms) {
  const s = ms / 1000;
  if (s < 0.0005) return "0 s";
  if (s < 0.9995) return `${Math.round(ms)} ms`;
  if (s < 9.95) return `${s.toFixed(1)} s`;
  if (s < 59.5) return `${Math.round(s)} s`;
  const whole = Math.round(s), two = (n) => String(n).padStart(2, "0");
  if (whole < 3600) return `${Math.floor(whole / 60)}m ${two(whole % 60)}s`;
  if (whole < 48 * 3600) return `${Math.floor(whole / 3600)}h ${two(Math.floor(whole / 60) % 60)}m`;
  return `${Math.floor(whole / 86400)}d ${Math.floor(whole / 3600) % 24}h`;
}

function say(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

// seen notes when the values came, at once after the page did.
export function seen(root = document) {
  for (const e of root.querySelectorAll(".ttl")) started(e, e.dataset.left + "/" + e.dataset.ttl);
  for (const e of root.querySelectorAll(".running")) started(e, e.dataset.since);
}

export function tick(root = document) {
  const now = performance.now();
  for (const e of root.querySelectorAll(".ttl")) {
    const left = Math.max(0, Number(e.dataset.left) - (now - started(e, e.dataset.left + "/" + e.dataset.ttl)));
    const bar = e.querySelector(".ttl-bar"), ttl = Number(e.dataset.ttl);
    // Below a second a figure that changes ten times a second says nothing.
    say(e.querySelector(".ttl-text"), left === 0 ? "over" : left < 1000 ? `${(left / 1000).toFixed(1)} s` : length(left));
    if (bar && ttl > 0) {
      const part = Math.min(100, (100 * left) / ttl);
      bar.querySelector(".fill").setAttribute("width", part.toFixed(1));
      bar.setAttribute("class", "ttl-bar " + (part >= 50 ? "ok" : part >= 17 ? "low" : "out"));
    }
  }
  for (const e of root.querySelectorAll(".running")) {
    say(e, length(Number(e.dataset.since) + now - started(e, e.dataset.since)));
  }
  for (const e of root.querySelectorAll("time")) {
    const since = Date.now() - Date.parse(e.dateTime);
    say(e, since < 1000 ? "just now" : length(since) + " ago");
  }
}
