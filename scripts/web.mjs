// Builds the dashboard: src/web/ as a few files with content hashes in their names, also compressed. Checks the size of the
// first page.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'
import { build } from 'vite'

const FIRST_PAGE_LIMIT = 250_000
const COMPRESSIBLE = /\.(html|js|css|svg)$/

/** The code of every page and of Home. */
const FIRST =
  /node_modules\/(preact|@tanstack\/(query-core|react-query)|wouter|openapi-fetch|regexparam)\/|src\/(domain|client)\/|src\/web\/(api|live|text|url|pages\/home)\/|src\/web\/parts\/(?!curve|detail|list|models|qr|range|tab)|src\/web\/shell\/(shell|keyboard|next-page|page-entry|sign-in-address)/
const TABLES = /node_modules\/@tanstack\/(react-virtual|virtual-core)\/|src\/web\/parts\/(detail|list|models|tab)/
const CURVES = /node_modules\/uplot\/|src\/web\/parts\/(curve|range)/

/** Shared with the development server (scripts/dev.mjs). */
export const viteSettings = {
  root: fileURLToPath(new URL('../src/web', import.meta.url)),
  configFile: false,
  publicDir: false,
  // Preact runs code written for React, and loads in a fraction of the time.
  resolve: {
    alias: {
      'react-dom/client': 'preact/compat/client',
      'react-dom': 'preact/compat',
      'react/jsx-runtime': 'preact/jsx-runtime',
      'react/jsx-dev-runtime': 'preact/jsx-dev-runtime',
      react: 'preact/compat',
    },
  },
  // For a strict Content-Security-Policy: nothing inline, and no data: URLs.
  build: {
    target: 'es2023',
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    // All styles are fewer bytes than the requests for those of each area.
    cssCodeSplit: false,
    rolldownOptions: {
      // 'use client' matters only for server rendering, which is not used.
      onLog: (level, log, handle) => log.code !== 'MODULE_LEVEL_DIRECTIVE' && handle(level, log),
      checks: { pluginTimings: false },
      output: {
        // Few files, because each request costs a slow phone more than the bytes. An area has one, besides those shared.
        codeSplitting: {
          groups: [
            { name: 'first', test: FIRST, priority: 3 },
            { name: 'tables', test: TABLES, priority: 2 },
            { name: 'curves', test: CURVES, priority: 1 },
          ],
        },
      },
    },
  },
}

const compress = (folder) => {
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile() || !COMPRESSIBLE.test(entry.name)) continue
    const path = join(entry.parentPath, entry.name)
    const bytes = readFileSync(path)
    writeFileSync(`${path}.gz`, gzipSync(bytes, { level: 9 }))
    writeFileSync(`${path}.br`, brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 11 } }))
  }
}

/** The size of the page and the files it names: entry, static imports, and styles. Pages load their code on demand. */
const firstPageBytes = (folder) => {
  const page = readFileSync(join(folder, 'index.html'), 'utf8')
  const named = [...page.matchAll(/(?:src|href)="\/(assets\/[^"]+)"/g)].map(([, name]) => name)
  const files = ['index.html', ...new Set(named)]
  return files.reduce((sum, name) => sum + gzipSync(readFileSync(join(folder, name)), { level: 9 }).length, 0)
}

/** @returns the first page's size in bytes with gzip; throws if it exceeds the limit */
export const buildWeb = async (outDir) => {
  await build({ ...viteSettings, logLevel: 'warn', build: { ...viteSettings.build, outDir, emptyOutDir: true } })
  const bytes = firstPageBytes(outDir)
  if (bytes > FIRST_PAGE_LIMIT) {
    throw new Error(
      `The dashboard's first page is ${bytes} bytes gzip; the limit is ${FIRST_PAGE_LIMIT}. ` +
        'Load what it does not need at first with import(), as src/web/pages/pages.ts does.',
    )
  }
  compress(outDir)
  return bytes
}
