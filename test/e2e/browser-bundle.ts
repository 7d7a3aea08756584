import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { onTestFinished } from 'vitest'

export interface Bundle {
  readonly code: string
  /** All files and packages in the bundle. */
  readonly inputs: readonly string[]
  /** What it would still have to import at run time. */
  readonly imports: readonly string[]
}

/** Bundles these modules as one script for browsers, with their exports in `globalThis[name]`. Fails on a Node built-in. */
export const bundleForBrowsers = async (modules: readonly string[], name: string): Promise<Bundle> => {
  const { outputFiles, metafile } = await build({
    stdin: {
      contents: modules.map((path) => `export * from ${JSON.stringify(path)}`).join('\n'),
      resolveDir: fileURLToPath(new URL('../..', import.meta.url)),
    },
    bundle: true,
    platform: 'browser',
    format: 'iife',
    target: 'es2022',
    globalName: name,
    write: false,
    metafile: true,
    logLevel: 'silent',
  })
  const [output] = Object.values(metafile.outputs)
  return {
    code: outputFiles[0]!.text,
    inputs: Object.keys(metafile.inputs),
    imports: output!.imports.map(({ path }) => path),
  }
}

/** Returns the address of a page with this script, served until the test ends. */
export const servePage = async (code: string): Promise<string> => {
  const server = createServer((request, response) => {
    const [type, body] =
      request.url === '/page.js'
        ? ['text/javascript', code]
        : ['text/html', '<!doctype html><link rel="icon" href="data:,"><script src="/page.js"></script>']
    response.writeHead(200, { 'content-type': `${type}; charset=utf-8` }).end(body)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.close()
    server.closeAllConnections()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}
