// Follows the server: its stream says that there is a newer picture, and the page
// fetches itself. A hidden page does neither: browsers allow six streams to a host.
import { morph } from "./morph.js";
import { tick, length } from "./times.js";
import { draw } from "./charts.js";
import { follow } from "./whole.js";

const base = document.body.dataset.base;
const state = { paused: false, source: null, shown: document.body.dataset.number, wanted: null, fetching: null, good: performance.now() };

export function refresh() {
  if (state.fetching) {
    state.wanted ??= "again";
    return;
  }
  state.fetching = new AbortController();
  const url = new URL(location.href);
  for (const said of ["did", "notified"]) url.searchParams.delete(said);
  fetch(url, { headers: { Accept: "text/html" }, credentials: "same-origin", redirect: "error", signal: state.fetching.signal })
    .then(async (answer) => {
      if (!answer.headers.get("Content-Type")?.startsWith("text/html")) throw new Error("not a page");
      show(await answer.text());
      state.good = performance.now();
      trouble(false);
    })
    .catch((error) => trouble(error.name !== "AbortError"))
    .finally(() => {
      state.fetching = null;
      if (state.wanted) {
        state.wanted = null;
        refresh();
      }
    });
}

function show(text) {
  const fresh = new DOMParser().parseFromString(text, "text/html");
  for (const id of ["nav", "main"]) {
    const from = fresh.getElementById(id);
    if (!from) throw new Error("not a page of ours");
    keep(from);
    morph(document.getElementById(id), from);
  }
  const foot = document.querySelector("footer span"), freshFoot = fresh.querySelector("footer span");
  if (foot && freshFoot) morph(foot, freshFoot);
  if (document.title !== fresh.title) document.title = fresh.title;
  state.shown = fresh.body.dataset.number;
  tick();
  draw();
  follow();
}

// keep leaves in place what was said in answer to a form.
function keep(fresh) {
  for (const key of ["done", "refused"]) {
    const said = document.querySelector(`#main > [data-key="${key}"]`);
    if (said && !fresh.querySelector(`[data-key="${key}"]`)) fresh.querySelector(".head")?.after(said.cloneNode(true));
  }
}

function trouble(is) {
  document.getElementById("broken").hidden = !is;
}

function connect() {
  if (state.source || state.paused || document.hidden) return;
  state.source = new EventSource(base + "/stream");
  state.source.addEventListener("picture", (event) => {
    if (event.data !== state.shown) refresh();
    else state.good = performance.now();
  });
  state.source.addEventListener("open", () => trouble(false));
  state.source.addEventListener("error", () => {
    trouble(true);
    if (state.source?.readyState === EventSource.CLOSED) { // refused: the browser has given up
      disconnect();
      setTimeout(connect, 3000);
    }
  });
}

function disconnect() {
  state.source?.close();
  state.source = null;
}

export function pause() {
  state.paused = !state.paused;
  document.getElementById("live").setAttribute("aria-pressed", String(state.paused));
  if (state.paused) {
    disconnect();
    state.wanted = null;
    state.fetching?.abort(); // else its answer would change the page
  } else {
    refresh();
    connect();
  }
}

export function start() {
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) disconnect();
    else if (!state.paused) {
      refresh();
      connect();
    }
  });
  addEventListener("pagehide", disconnect);
  addEventListener("pageshow", connect);
  setInterval(() => {
    if (document.hidden) return;
    if (!state.paused) tick();
    document.getElementById("stale").textContent = length(performance.now() - state.good) + " old";
  }, 250);
  tick();
  draw();
  connect();
}
