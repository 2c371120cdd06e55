// Figures and moments as people read them.
export function bytes(count: number | undefined | null): string {
  if (count === undefined || count === null || !Number.isFinite(count)) return "–";
  const units = ["B", "kB", "MB", "GB", "TB"];
  let unit = 0;
  while (Math.abs(count) >= 1000 && unit < units.length - 1) count /= 1000, unit++;
  return `${unit === 0 || count >= 100 ? Math.round(count) : count.toFixed(1)} ${units[unit]}`;
}

export function count(value: number | undefined | null): string {
  return value === undefined || value === null || !Number.isFinite(value) ? "–" : Math.round(value).toLocaleString("en-US");
}

// Few digits for a chart's legend: 0.42, 12.3, 1,234.
export function figure(value: number | undefined | null): string {
  if (value === undefined || value === null || !Number.isFinite(value)) return "–";
  if (Number.isInteger(value)) return count(value);
  const size = Math.abs(value);
  return size >= 100 ? count(value) : value.toFixed(size >= 10 ? 1 : 2);
}

export function ratio(logical: number | undefined, stored: number | undefined): string {
  return logical && stored ? `${(logical / stored).toFixed(2)} : 1` : "–";
}

// "2026-11-27 14:45:58", in the reader's time zone.
export function moment(date: Date | undefined, milliseconds = false): string {
  if (!date || Number.isNaN(date.getTime())) return "–";
  const two = (value: number) => String(value).padStart(2, "0");
  const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
  const time = `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
  return `${day} ${time}${milliseconds ? "." + String(date.getMilliseconds()).padStart(3, "0") : ""}`;
}

export function duration(seconds: number | undefined): string {
  if (seconds === undefined || !Number.isFinite(seconds)) return "–";
  if (seconds < 1) return `${Math.round(seconds * 1000)} ms`;
  if (seconds < 60) return `${seconds < 10 ? seconds.toFixed(1) : Math.round(seconds)} s`;
  const parts: [number, string][] = [[Math.floor(seconds / 86400), "d"], [Math.floor(seconds / 3600) % 24, "h"], [Math.floor(seconds / 60) % 60, "min"]];
  return parts.filter(([value]) => value > 0).slice(0, 2).map(([value, unit]) => `${value} ${unit}`).join(" ");
}

export const plural = (value: number, what: string): string => `${count(value)} ${what}${value === 1 ? "" : "s"}`;
export const short = (id: string | undefined): string => (id === undefined ? "" : id.slice(0, 10));
