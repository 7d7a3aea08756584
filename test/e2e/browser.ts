import { accessSync, constants, existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core'
import { onTestFinished } from 'vitest'

const NAMES = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable']
const ARGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
]

const isProgram = (path: string): boolean => {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}

const findBrowser = (): string | null => {
  const named = process.env.CHROME_BIN
  if (named) {
    if (existsSync(named)) return named
    throw new Error(`CHROME_BIN names ${named}, which does not exist.`)
  }
  const folders = (process.env.PATH ?? '').split(delimiter).filter(Boolean)
  const found = folders.flatMap((folder) => NAMES.map((name) => join(folder, name))).find(isProgram)
  if (found !== undefined) return found
  const message = `no Chromium: ${NAMES.join(', ')} are not on the PATH, and CHROME_BIN names none`
  if (process.env.CI === 'true') throw new Error(`CI runs the tests in a browser too, but there is ${message}.`)
  console.warn(`\nSKIPPED: the tests in a browser, because there is ${message}.\n`)
  return null
}

const program = findBrowser()

export const hasBrowser = (): boolean => program !== null

let running: Promise<Browser> | null = null

/** One for each test process, which takes it along when it ends. */
const launch = async (): Promise<Browser> => {
  if (program === null) throw new Error('There is no browser.')
  if (running !== null && !(await running).isConnected()) running = null
  return (running ??= chromium.launch({ executablePath: program, args: ARGS, timeout: 120_000 }))
}

export interface Tab {
  readonly page: Page
  readonly context: BrowserContext
  /** What the page reported: console errors, thrown errors, requests that got no answer. */
  readonly problems: readonly string[]
}

/** A page in a profile of its own, closed when the test ends. */
export const openTab = async (): Promise<Tab> => {
  const context = await (await launch()).newContext()
  const page = await context.newPage()
  const problems: string[] = []
  onTestFinished(async ({ task }) => {
    if (task.result?.state === 'fail' && !page.isClosed()) {
      const shown = await page.locator('body').ariaSnapshot({ timeout: 5000 }).catch(String)
      console.error(`${page.url()} reported ${JSON.stringify(problems)} and shows:\n${shown}`)
    }
    await context.close()
  })
  // Before the test's own limit, to say what was awaited in vain.
  context.setDefaultTimeout(120_000)
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') problems.push(message.text())
  })
  page.on('pageerror', (error) => problems.push(String(error)))
  page.on('requestfailed', (request) => problems.push(`${request.method()} ${request.url()} got no answer`))
  return { page, context, problems }
}
