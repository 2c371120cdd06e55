// Dark or light: as the system says, or as somebody has chosen here.
import { Field } from "./basics";
import { useEffect, useState } from "preact/hooks";

export type Theme = "system" | "light" | "dark";
const changed = new EventTarget();
const system = matchMedia("(prefers-color-scheme: dark)");
system.addEventListener("change", () => changed.dispatchEvent(new Event("theme")));

export const chosen = (): Theme => {
  const kept = localStorage.getItem("theme");
  return kept === "light" || kept === "dark" ? kept : "system";
};
export function choose(theme: Theme): void {
  localStorage.setItem("theme", theme);
  apply();
}
export function apply(): void {
  document.documentElement.dataset.theme = shown();
  changed.dispatchEvent(new Event("theme"));
}
const shown = (): "light" | "dark" => {
  const theme = chosen();
  return theme === "system" ? (system.matches ? "dark" : "light") : theme;
};
system.addEventListener("change", apply);

export function useTheme(): "light" | "dark" {
  const [theme, set] = useState(shown);
  useEffect(() => {
    const read = () => set(shown());
    changed.addEventListener("theme", read);
    return () => changed.removeEventListener("theme", read);
  }, []);
  return theme;
}

export function ThemeSwitch() {
  const [theme, set] = useState(chosen);
  return (
    <Field label="Theme" class="theme-switch">
      <select value={theme} onChange={event => { const next = event.currentTarget.value as Theme; choose(next); set(next); }}>
        <option value="system">system</option>
        <option value="light">light</option>
        <option value="dark">dark</option>
      </select>
    </Field>
  );
}
