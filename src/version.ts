import { readFileSync } from 'node:fs'

/** The version in package.json: reported by the health endpoint, the API document and `svc --version`. */
export const VERSION: string = (
  JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as { version: string }
).version
