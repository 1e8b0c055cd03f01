// How long ago something was: that alone runs on between two pictures. It counts from what the
// server said, by this machine's steady clock. All else stays as it was at the picture's moment.
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

// tick also notes when the values came, if it is called at once after they did.
export function tick(root = document) {
  for (const e of root.querySelectorAll("time")) {
    const since = Number(e.dataset.ago) + performance.now() - started(e, e.dateTime + e.dataset.ago);
    const text = since < 1000 ? "just now" : length(since) + " ago";
    if (e.textContent !== text) e.textContent = text;
  }
}
