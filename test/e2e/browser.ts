import type { Browser, BrowserContext, Page } from 'playwright-core'
import { onTestFinished } from 'vitest'
import { findBrowser, launchBrowser, NO_BROWSER } from '../browser-program.ts'

const program = findBrowser()

if (program === null) {
  if (process.env.CI === 'true') throw new Error(`CI runs the tests in a browser too, but there is ${NO_BROWSER}.`)
  console.warn(`\nSKIPPED: the tests in a browser, because there is ${NO_BROWSER}.\n`)
}

export const hasBrowser = (): boolean => program !== null

let running: Promise<Browser> | null = null

/** One browser per test process, which ends with it. */
const launch = async (): Promise<Browser> => {
  if (program === null) throw new Error('There is no browser.')
  if (running !== null && !(await running).isConnected()) running = null
  return (running ??= launchBrowser(program))
}

export interface Tab {
  readonly page: Page
  readonly context: BrowserContext
  /** The page's console errors, thrown errors, and requests without a response. */
  readonly problems: readonly string[]
}

/** Opens a page in a new profile, closed when the test ends. */
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
  // Shorter than the test's own timeout, to report what was awaited.
  context.setDefaultTimeout(120_000)
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') problems.push(message.text())
  })
  page.on('pageerror', (error) => problems.push(String(error)))
  page.on('requestfailed', (request) => problems.push(`${request.method()} ${request.url()} got no answer`))
  return { page, context, problems }
}
