// Curves over time.
import { useEffect, useRef, useState } from "preact/hooks";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { useTheme } from "./theme";

export interface Curve {
  name: string;
  colour: string;  // a name of styles: --curve-1
}

export function Chart({ title, times, curves, values, format }: {
  title: string;
  times: number[];  // seconds since 1970
  curves: Curve[];
  values: (number | null)[][];  // for each curve
  format: (value: number | null | undefined) => string;
}) {
  const box = useRef<HTMLDivElement>(null), plot = useRef<uPlot | undefined>(undefined);
  const theme = useTheme();
  // The legend has the values under the mouse, else the newest.
  const [under, setUnder] = useState<number | undefined>(undefined);
  useEffect(() => {
    const element = box.current!;
    const style = getComputedStyle(element);
    const axis = { stroke: style.getPropertyValue("--quiet"), grid: { stroke: style.getPropertyValue("--line"), width: 1 }, ticks: { show: false }, font: "11px system-ui" };
    plot.current = new uPlot(
      {
        width: element.clientWidth, height: 150, padding: [8, 10, 0, 0], legend: { show: false }, cursor: { y: false, points: { size: 5 } },
        scales: {
          // At least a minute, so that the first points don't fill the whole width.
          x: { range: (_, low, high) => { const end = high ?? Date.now() / 1000; return [Math.min(low ?? end, end - 60), end]; } },
          y: { range: (_, low, high) => [Math.min(0, low ?? 0), (high || 1) * 1.1] },
        },
        axes: [
          { ...axis, space: 70, size: 26, values: (_, ticks) => ticks.map(tick => new Date(tick * 1000).toTimeString().slice(0, 8)) },
          { ...axis, size: 58, values: (_, ticks) => ticks.map(format) },
        ],
        series: [{}, ...curves.map(curve => ({ label: curve.name, stroke: style.getPropertyValue(curve.colour), width: 1.5, points: { show: false } }))],
        hooks: { setCursor: [self => setUnder(self.cursor.idx ?? undefined)] },
      },
      [times, ...values] as uPlot.AlignedData,
      element,
    );
    const observer = new ResizeObserver(() => plot.current?.setSize({ width: element.clientWidth, height: 150 }));
    observer.observe(element);
    return () => {
      observer.disconnect();
      plot.current?.destroy();
    };
  }, [theme, curves.length]);
  useEffect(() => plot.current?.setData([times, ...values] as uPlot.AlignedData), [times, values]);

  return (
    <figure class="chart">
      <figcaption>
        <h2>{title}</h2>
        <ul class="legend">
          {curves.map((curve, at) => <li key={curve.name}><span class="key" style={{ background: `var(${curve.colour})` }} />{curve.name} <output>{format(values[at]?.at(under ?? -1))}</output></li>)}
        </ul>
      </figcaption>
      <div ref={box} class="plot" aria-hidden="true" />
    </figure>
  );
}
