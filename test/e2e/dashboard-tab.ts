import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type axe from 'axe-core'
import type { BrowserContext, Page } from 'playwright-core'
import { expect } from 'vitest'
import { openTab, type Tab } from './browser.ts'

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

/** Reported for requests that a page aborted when it was left. */
const NO_ANSWER = / got no answer$/

const watchPolicy = (context: BrowserContext): Promise<unknown> =>
  context.addInitScript(() =>
    document.addEventListener('securitypolicyviolation', (event) =>
      console.error(`blocked: ${event.violatedDirective} ${event.blockedURI}`),
    ),
  )

export interface DashboardTab extends Tab {
  /** Errors of the page or its policy, and failed requests that the page did not abort. */
  wrong(): readonly string[]
  heading(): Promise<string | null>
  /** Goes to another path like a link, without a reload. */
  visit(path: string): Promise<void>
}

/** Opens the dashboard at a path in a new profile. Anything blocked by its policy counts as a problem. */
export const openDashboard = async (baseUrl: string, path = '/'): Promise<DashboardTab> => {
  const tab = await openTab()
  await watchPolicy(tab.context)
  const failed: string[] = []
  tab.page.on('requestfailed', (request) => {
    const why = request.failure()?.errorText
    if (why !== 'net::ERR_ABORTED') failed.push(`${request.method()} ${request.url()}: ${why}`)
  })
  await tab.page.goto(`${baseUrl}${path}`)
  return {
    ...tab,
    wrong: () => [...tab.problems.filter((problem) => !NO_ANSWER.test(problem)), ...failed],
    heading: () => tab.page.getByRole('heading', { level: 1 }).textContent(),
    visit: (to) => tab.page.evaluate((target) => history.pushState(null, '', target), to),
  }
}

/** Light and dark mode differ only in colors. */
const SCHEMES = [
  ['light', {}],
  ['dark', { runOnly: ['color-contrast', 'link-in-text-block'] }],
] as const

/** Fails if axe finds anything on the current page: with all rules in light mode, with the color rules also in dark mode. */
export const expectAccessible = async (page: Page): Promise<void> => {
  const found: string[] = []
  await page.locator('h1').first().waitFor()
  if (!(await page.evaluate(() => 'axe' in window))) await page.evaluate(AXE)
  for (const [colorScheme, rules] of SCHEMES) {
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
    const violations = await page.evaluate(async (options) => {
      const { axe: loaded } = window as unknown as { axe: typeof axe }
      return (await loaded.run(document, { ...options, resultTypes: ['violations'] })).violations
    }, rules as axe.RunOptions)
    for (const { id, nodes } of violations) {
      found.push(`${colorScheme} ${new URL(page.url()).pathname} ${id}: ${nodes.map(({ html }) => html).join('\n')}`)
    }
  }
  expect(found).toEqual([])
}

/** Fails if anything extends beyond the right edge of a phone. */
export const expectNoSidewaysScroll = async (page: Page): Promise<void> => {
  await page.setViewportSize({ width: 390, height: 844 })
  const overflowing = () =>
    page.evaluate(() => {
      const { scrollWidth, clientWidth } = document.documentElement
      if (scrollWidth <= clientWidth) return []
      return [...document.querySelectorAll('main *')]
        .filter((element) => element.getBoundingClientRect().right > clientWidth + 1)
        .map((element) => element.outerHTML.slice(0, 120))
    })
  await expect.poll(overflowing).toEqual([])
  await page.setViewportSize({ width: 1440, height: 900 })
}
