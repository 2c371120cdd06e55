// The page becomes three files, which the build embeds in the program: index.html, console.js and console.css.
import { defineConfig } from "vite";

export default defineConfig({
  cacheDir: ".cache",
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
