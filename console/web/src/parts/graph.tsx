// One row of the graph of commits: lines that pass by, and a dot.
import type { Row } from "../model/lanes";

const lane = 14, shown = 12;  // pixels between lanes; lanes drawn at most

export const graphWidth = (lanes: number): number => Math.min(lanes, shown) * lane + 6;
const x = (column: number): number => column * lane + 10;
const colour = (column: number): string => `var(--curve-${(column % 6) + 1})`;

export function Graph({ row, height, width, merge }: { row: Row; height: number; width: number; merge: boolean }) {
  const middle = height / 2, dot = x(row.column);
  // From a lane at the row's edge to the dot.
  const bend = (column: number, edge: number) => (column === row.column ? `M${dot} ${edge}V${middle}` : `M${x(column)} ${edge}C${x(column)} ${middle} ${dot} ${(edge + middle) / 2} ${dot} ${middle}`);
  return (
    <svg class="graph" width={width} height={height} aria-hidden="true">
      {row.through.map(column => <path key={`t${column}`} d={`M${x(column)} 0V${height}`} stroke={colour(column)} />)}
      {row.above.map(column => <path key={`a${column}`} d={bend(column, 0)} stroke={colour(column)} />)}
      {row.below.map(column => <path key={`b${column}`} d={bend(column, height)} stroke={colour(column)} />)}
      <circle cx={dot} cy={middle} r={merge ? 4.5 : 4} fill={merge ? "var(--panel)" : colour(row.column)} stroke={colour(row.column)} />
    </svg>
  );
}
