// Draws the plots of a report page with uPlot. Each plot stands in the page as JSON, in a <script> of the class "plot":
//
//   {x: {label, unit, log}, y: {label, unit}, series: [{name, x: [...], y: [...]}, ...]}
//
// `unit` says how an axis writes its numbers; it is a key of `write` below.
"use strict";
(() => {
  const colours = ["#2563eb", "#d97706", "#059669", "#7c3aed", "#dc2626", "#0891b2", "#65a30d", "#475569"];
  const digits = (value) => value.toLocaleString("en", {maximumSignificantDigits: 3});
  const bytes = (value) => {
    const units = ["B", "KB", "MB", "GB", "TB"];
    let unit = 0;
    for (; Math.abs(value) >= 1000 && unit + 1 < units.length; ++unit) value /= 1000;
    return digits(value) + " " + units[unit];
  };
  // All marks of an axis have the unit that suits the largest of them.
  const seconds = (value, most = value) => {
    const [name, size] = most < 1 ? ["ms", 1e-3] : most <= 300 ? ["s", 1] : most <= 10800 ? ["min", 60] : ["h", 3600];
    return digits(value / size) + " " + name;
  };
  const write = {
    number: (value) => (Math.abs(value) >= 1000 ? Math.round(value).toLocaleString("en") : digits(value)),
    seconds,
    bytes,
  };
  // The distances that marks of a time axis may have; other axes have uPlot's own.
  const secondsApart = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800,
    3600, 7200, 14400, 21600, 43200, 86400, 172800, 604800];

  // From zero to a little above the largest value, so that the height of a curve can be compared with another's.
  const fromZero = (self, least, most) => [0, most > 0 ? most * 1.05 : 1];
  const untilLast = (self, least, most) => [0, most > 0 ? most : 1];
  const firstToLast = (self, least, most) => [least, most > least ? most : least * 10];

  const axis = (about) => ({
    label: about.label || undefined,
    labelSize: about.label ? 22 : 0,
    font: "12px system-ui, sans-serif",
    labelFont: "12px system-ui, sans-serif",
    stroke: "#57606a",
    grid: {stroke: "#eaeef2", width: 1},
    ticks: {stroke: "#eaeef2", width: 1},
    ...(about.unit === "seconds" ? {incrs: secondsApart} : {}),
    // A logarithmic axis leaves out the labels of some of its marks.
    values: (self, marks) => marks.map((mark) => (mark === null ? "" : write[about.unit](mark, marks[marks.length - 1]))),
  });

  const draw = (source) => {
    const plot = JSON.parse(source.textContent);
    const holder = document.createElement("div");
    source.after(holder);
    const options = {
      width: holder.clientWidth,
      height: 300,
      legend: {live: true},
      scales: {
        x: plot.x.log ? {time: false, distr: 3, range: firstToLast} : {time: false, range: untilLast},
        y: {range: fromZero},
      },
      axes: [{...axis(plot.x), size: 36}, {...axis(plot.y), size: 76}],
      series: [
        {label: plot.x.label || (plot.x.unit === "seconds" ? "time" : "x"), value: (self, value) => (value == null ? "" : write[plot.x.unit](value))},
        ...plot.series.map((series, i) => ({
          label: series.name,
          stroke: colours[i % colours.length],
          width: 2,
          spanGaps: true,
          points: {show: series.x.length <= 24, size: 6, fill: colours[i % colours.length]},
          value: (self, value) => (value == null ? "" : write[plot.y.unit](value)),
        })),
      ],
    };
    const drawn = new uPlot(options, uPlot.join(plot.series.map((series) => [series.x, series.y])), holder);
    addEventListener("resize", () => drawn.setSize({width: holder.clientWidth, height: 300}));
  };

  document.querySelectorAll("script.plot").forEach(draw);
})();
