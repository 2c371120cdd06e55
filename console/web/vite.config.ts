// The page becomes three files, which the build embeds in the program: index.html, console.js and console.css.
import { defineConfig } from "vitest/config";

export default defineConfig({
  cacheDir: ".cache",
  // Tests on a busy machine take long.
  test: { testTimeout: 120_000, hookTimeout: 120_000 },
  esbuild: { jsx: "automatic", jsxImportSource: "preact" },
  build: {
    outDir: "page",
    target: "es2022",
    cssCodeSplit: false,
    modulePreload: { polyfill: false },
    rollupOptions: {
      output: {
        entryFileNames: "console.js",
        assetFileNames: "console[extname]",
        inlineDynamicImports: true,
      },
    },
  },
});
