// The dashboard: src/web/ as a few files whose names change with their content, each also compressed, and the check of how
// much a first visit costs.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'
import { build } from 'vite'

const FIRST_PAGE_LIMIT = 250_000
const COMPRESSIBLE = /\.(html|js|css|svg)$/

const FIRST =
  /node_modules\/(preact|@tanstack\/(query-core|react-query)|wouter|openapi-fetch|regexparam)\/|src\/web\/(api|live|text|url|pages\/home|parts\/(badge|layout|meter|now|timeline|dialog|form))\/?|src\/web\/shell\/(shell|boundary|keyboard|use-keyboard|next-page|page-entry)/

/** Also those of the development server (scripts/dev.mjs). */
export const viteSettings = {
  root: fileURLToPath(new URL('../src/web', import.meta.url)),
  configFile: false,
  publicDir: false,
  // Preact runs what is written for React, and a browser reads it in a fraction of the time.
  resolve: {
    alias: {
      'react-dom/client': 'preact/compat/client',
      'react-dom': 'preact/compat',
      'react/jsx-runtime': 'preact/jsx-runtime',
      'react/jsx-dev-runtime': 'preact/jsx-dev-runtime',
      react: 'preact/compat',
    },
  },
  // A strict Content-Security-Policy: nothing inline, no data: addresses.
  build: {
    target: 'es2023',
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    rolldownOptions: {
      // 'use client' says something to servers that render, of which there is none.
      onLog: (level, log, handle) => log.code !== 'MODULE_LEVEL_DIRECTIVE' && handle(level, log),
      checks: { pluginTimings: false },
      output: {
        // What every page needs, and Home, are one file: each file costs a slow phone more than its bytes.
        codeSplitting: { groups: [{ name: 'first', test: FIRST }] },
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

/** The page, and what it names: the entry, its static imports and the styles. Pages load theirs when they are visited. */
const firstPageBytes = (folder) => {
  const page = readFileSync(join(folder, 'index.html'), 'utf8')
  const named = [...page.matchAll(/(?:src|href)="\/(assets\/[^"]+)"/g)].map(([, name]) => name)
  const files = ['index.html', ...new Set(named)]
  return files.reduce((sum, name) => sum + gzipSync(readFileSync(join(folder, name)), { level: 9 }).length, 0)
}

/** @returns the first page's size in bytes, gzip; fails above the limit. */
export const buildWeb = async (outDir) => {
  await build({ ...viteSettings, logLevel: 'warn', build: { ...viteSettings.build, outDir, emptyOutDir: true } })
  const bytes = firstPageBytes(outDir)
  if (bytes > FIRST_PAGE_LIMIT) {
    throw new Error(`The dashboard's first page is ${bytes} bytes gzip; the limit is ${FIRST_PAGE_LIMIT}.`)
  }
  compress(outDir)
  return bytes
}
