import { accessSync, constants, existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { type Browser, chromium } from 'playwright-core'

// The headless shell needs half the CPU time of the full browser.
const NAMES = ['chromium-headless-shell', 'chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable']
const ARGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
]

export const NO_BROWSER = `no Chromium: ${NAMES.join(', ')} are not on the PATH, and CHROME_BIN names none`

const isProgram = (path: string): boolean => {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}

/** Returns the Chromium from CHROME_BIN or the PATH; null if there is none. */
export const findBrowser = (): string | null => {
  const named = process.env.CHROME_BIN
  if (named) {
    if (existsSync(named)) return named
    throw new Error(`CHROME_BIN names ${named}, which does not exist.`)
  }
  const folders = (process.env.PATH ?? '').split(delimiter).filter(Boolean)
  return folders.flatMap((folder) => NAMES.map((name) => join(folder, name))).find(isProgram) ?? null
}

export const launchBrowser = (program: string): Promise<Browser> =>
  chromium.launch({ executablePath: program, args: ARGS, timeout: 120_000 })
