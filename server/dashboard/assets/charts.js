// Draws the charts with uPlot where it is loaded; without it the SVG of the page stays.
import { length } from "./times.js";

const drawn = new Map(); // by title

function colours() {
  const style = getComputedStyle(document.documentElement);
  const of = (name) => style.getPropertyValue(name).trim();
  return { lines: [of("--s0"), of("--s1")], text: of("--muted"), grid: of("--line") };
}

// clock is a time as a chart shows it: with the day if the chart shows hours.
function clock(seconds, hourly) {
  const text = new Date(seconds * 1000).toString(); // Thu Nov 26 2026 14:03:43 ...
  return hourly ? `${text.slice(0, 3)} ${text.slice(16, 21)}` : text.slice(16, 24);
}

function options(figure, names, width) {
  const { lines, text, grid } = colours(), unit = figure.dataset.unit;
  const axis = { stroke: text, grid: { stroke: grid, width: 1 }, ticks: { show: false }, font: "11px sans-serif" };
  return {
    width, height: 132, legend: { show: false }, cursor: { y: false, points: { size: 6 } }, padding: [8, 34, 0, 0],
    scales: { x: { time: true }, y: { range: (_, low, high) => [0, Math.max(1, high * 1.1)] } },
    axes: [
      { ...axis, size: 22, space: 80, values: (_, at) => at.map((s) => clock(s, figure.dataset.hourly)) },
      { ...axis, size: 46, space: 34, incrs: unit ? undefined : [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000],
        values: (_, at) => at.map((v) => (unit === "ms" ? (v ? (v >= 1000 ? `${v / 1000} s` : `${v} ms`) : "0") : String(v))) },
    ],
    series: [{}, ...names.map((label, i) => ({ label, stroke: lines[i], width: 1.75, dash: i ? [5, 3] : undefined, spanGaps: false, points: { show: false },
      fill: i || names.length > 1 ? undefined : lines[i] + "1f" }))],
    hooks: { setCursor: [(u) => say(figure, names, u, unit)] },
  };
}

function said(value, unit) {
  if (value == null) return "–";
  return unit === "ms" ? length(value) : String(value);
}

// say describes the values under the cursor.
function say(figure, names, u, unit) {
  const line = figure.querySelector(".said");
  if (!line || u.cursor.idx == null) return;
  const at = clock(u.data[0][u.cursor.idx], figure.dataset.hourly);
  line.textContent = `${at}: ` + names.map((n, i) => `${n} ${said(u.data[i + 1][u.cursor.idx], unit)}`).join(", ");
}

export function draw() {
  if (!globalThis.uPlot) return;
  for (const figure of document.querySelectorAll(".chart")) {
    const plot = figure.querySelector(".plot"), key = plot.dataset.still, names = figure.dataset.names.split(",");
    const data = JSON.parse(figure.dataset.series), last = drawn.get(key);
    if (last && last.plot === plot) {
      if (last.series !== figure.dataset.series) last.chart.setData(data);
      last.series = figure.dataset.series;
      continue;
    }
    last?.chart.destroy();
    drawn.delete(key);
    if (data[0].length < 2) continue;
    plot.setAttribute("role", "img");
    plot.setAttribute("aria-label", plot.querySelector("svg")?.getAttribute("aria-label") ?? key);
    plot.replaceChildren();
    drawn.set(key, { plot, series: figure.dataset.series, chart: new uPlot(options(figure, names, plot.clientWidth), data, plot) });
  }
}

// redraw draws the chart again, with other colours or another width.
export function redraw() {
  for (const [, last] of drawn) {
    last.chart.destroy();
    last.plot = null;
  }
  draw();
}

let width = innerWidth;
addEventListener("resize", () => {
  if (width !== innerWidth) redraw();
  width = innerWidth;
});
