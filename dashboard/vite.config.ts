import { svelte } from '@sveltejs/vite-plugin-svelte';
import { defineConfig } from 'vite';

// The page may be served under any path, so nothing in it may say where it is: addresses are
// relative to <base>, which the server writes (src/pages/).
export default defineConfig({
  base: './',
  plugins: [svelte()],
  build: {
    outDir: process.env.MILLRACE_DASHBOARD_OUT ?? 'dist',
    emptyOutDir: true,
    target: 'es2022',
    assetsInlineLimit: 0, // the content security policy lets nothing in that has no name
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    rollupOptions: {
      output: {
        // Every page is a `Page`; the folder says which.
        chunkFileNames: (chunk) => `assets/${/pages\/(\w+)\/Page/.exec(chunk.facadeModuleId ?? '')?.[1] ?? '[name]'}-[hash].js`,
      },
    },
  },
  // `npm run dev` beside a server: the page from here, the API from there.
  server: { proxy: { '^/(v1|metrics|health|ready|openapi.json)': process.env.MILLRACE_URL ?? 'http://127.0.0.1:7070' } },
});
