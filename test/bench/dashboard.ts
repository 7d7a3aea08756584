// The dashboard in a browser: time to the first page, to a round's point on a curve, and to a list of 100,000 devices.
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import type { Browser, Page } from 'playwright-core'
import { unwrap } from '../../src/client/client.ts'
import { takePart } from '../../src/sdk/take-part.ts'
import { trainLocally } from '../../src/sdk/trainers/built-in.ts'
import { syntheticDevices } from '../../src/sdk/trainers/synthetic.ts'
import { findBrowser, launchBrowser, NO_BROWSER } from '../browser-program.ts'
import { buildProgram } from './built-program.ts'
import { withCleanUps } from './clean-ups.ts'
import { median, printTable } from './figures.ts'
import { registerFleet } from './fleet.ts'
import { startLoadGenerator } from './load.ts'
import { startProgram } from './service-under-test.ts'
import { operate, type Trainee } from './training/trainees.ts'

const WEB_SCRIPT = fileURLToPath(new URL('../../scripts/web.mjs', import.meta.url))
const VISITS = 5
const CPU_SLOWDOWN = 4
const ROUNDS = 5
/** Run before the measured rounds, so that the code is compiled. */
const WARM_UP_ROUNDS = 1
const SHAPE = { features: 60, classes: 10 }
const TRAINEES = 3
const DEVICES = 100_000
const MAX_MS = 60_000

const NOTHING_LOADS = ':not(:has([role=status][aria-label=Loading]))'
const HOME = `main${NOTHING_LOADS} a[href^="/training/rounds/"]`

interface Seen {
  /** Milliseconds since 1970. */
  readonly atMs: number
  /** Milliseconds since the navigation began. */
  readonly sinceStartMs: number
}

/** Resolves when the page first draws a frame with a match of the selector. */
const whenSeen = (page: Page, selector: string): Promise<Seen> =>
  page.evaluate(
    async ({ wanted, longestMs }) => {
      const deadline = performance.now() + longestMs
      while (document.querySelector(wanted) === null) {
        if (performance.now() > deadline) throw new Error(`The page never showed ${wanted}`)
        await new Promise(requestAnimationFrame)
      }
      return { atMs: Date.now(), sinceStartMs: performance.now() }
    },
    { wanted: selector, longestMs: MAX_MS },
  )

/** Prints medians, with their ranges, next to the goals. */
export const benchDashboard = (): Promise<void> =>
  withCleanUps(async (cleanUps) => {
    const chromium = findBrowser()
    if (chromium === null) throw new Error(`There is ${NO_BROWSER}.`)
    const { service: program } = buildProgram()
    const { buildWeb } = (await import(WEB_SCRIPT)) as { buildWeb: (folder: string) => Promise<number> }
    await buildWeb(join(dirname(program), 'web'))
    const service = await startProgram(cleanUps, { name: 'service', program })
    const browser = await launchBrowser(chromium)
    cleanUps.add(() => browser.close())
    const baseUrl = `http://127.0.0.1:${service.port}`

    const points = await pointDelays(browser, service.port)
    const first = await firstPages(browser, baseUrl)
    await registerFleet(startLoadGenerator(cleanUps), service, DEVICES)
    const lists = await deviceLists(browser, baseUrl)
    printTable(
      ['', 'median', 'from – to', 'goal'],
      [
        [`first page, CPU ${CPU_SLOWDOWN} times slower, cold`, ...milliseconds(first.times), '1,000 ms'],
        ['first page, gzip', `${(first.bytes / 1000).toFixed(0)} kB`, '', '250 kB'],
        ["from a round's end to its point on the curve", ...milliseconds(points), '500 ms'],
        [`list of ${DEVICES.toLocaleString('en')} devices, from the click`, ...milliseconds(lists.pages), '200 ms'],
        ['search in it, from the last key', ...milliseconds(lists.searches), '200 ms'],
      ],
    )
  })

const milliseconds = (times: readonly number[]): [string, string] => [
  `${median(times).toFixed(0)} ms`,
  `${Math.min(...times).toFixed(0)} – ${Math.max(...times).toFixed(0)}`,
]

/** Measures the home page in a new profile: from the navigation until its content is drawn and nothing is loading. */
const firstPages = async (browser: Browser, baseUrl: string) => {
  const times: number[] = []
  let bytes = 0
  for (let visit = 0; visit < VISITS; visit++) {
    const context = await browser.newContext()
    const page = await context.newPage()
    const session = await context.newCDPSession(page)
    await session.send('Emulation.setCPUThrottlingRate', { rate: CPU_SLOWDOWN })
    const urls = new Set<string>()
    page.on('request', (request) => urls.add(request.url()))
    await page.goto(baseUrl, { waitUntil: 'commit' })
    times.push((await whenSeen(page, HOME)).sinceStartMs)
    bytes = await compressedBytes([...urls].filter((url) => !url.includes('/api/')))
    await context.close()
  }
  return { times, bytes }
}

const compressedBytes = async (urls: readonly string[]): Promise<number> => {
  const files = await Promise.all(urls.map(async (url) => (await fetch(url)).arrayBuffer()))
  return files.reduce((sum, file) => sum + gzipSync(file, { level: 9 }).length, 0)
}

/** Measures from each round's `completed_at` until the job's page shows the round in its curve. */
const pointDelays = async (browser: Browser, port: number): Promise<readonly number[]> => {
  const baseUrl = `http://127.0.0.1:${port}`
  const operator = await operate(port, 'curve')
  const fleet = await operator.trainees(TRAINEES)
  const data = syntheticDevices({ alpha: 1, beta: 1, devices: TRAINEES, seed: 1, ...SHAPE, maxRows: 100 })
  const job = await operator.start({
    model: await operator.beginner(SHAPE),
    rounds: WARM_UP_ROUNDS + ROUNDS,
    min_devices: TRAINEES,
    hyperparameters: { local_epochs: 1, learning_rate: 0.01, batch_size: 10 },
  })
  const page = await browser.newPage()
  await page.goto(`${baseUrl}/training/jobs/${job}`)
  await page.getByText('Live', { exact: true }).waitFor()
  const delays: number[] = []
  for (let round = 1; round <= WARM_UP_ROUNDS + ROUNDS; round++) {
    const [roundId = ''] = await Promise.all(fleet.map(pendingRound))
    const seen = whenSeen(page, `[role=img][aria-label*=" at job round ${round}, "]`)
    const parts = fleet.map(({ device, name: deviceId }, index) =>
      takePart(device, roundId, (weights, plan, signal) =>
        trainLocally(weights, data[index]!, plan, { deviceId, signal }),
      ),
    )
    const [{ atMs }] = await Promise.all([seen, ...parts])
    const params = { path: { round_id: roundId } }
    const ended = await unwrap(operator.client.GET('/api/v1/training/rounds/{round_id}/status', { params }))
    delays.push(atMs - Date.parse(ended.completed_at!))
  }
  await page.close()
  return delays.slice(WARM_UP_ROUNDS)
}

const pendingRound = async ({ device }: Trainee): Promise<string> => {
  for (;;) {
    const { pendingRoundId } = await device.heartbeat(undefined, { waitSeconds: 20 })
    if (pendingRoundId !== null) return pendingRoundId
  }
}

/** Returns when the page gets the next event of this kind, by the browser's clock. Call it before the event. */
const nextEvent = async (page: Page, type: string): Promise<() => Promise<number>> => {
  await page.evaluate((kind) => {
    window.addEventListener(kind, () => Object.assign(window, { seenAt: Date.now() }), { capture: true, once: true })
  }, type)
  return () => page.evaluate(() => (window as unknown as { seenAt: number }).seenAt)
}

/** Measures from a click on Devices to the first rows, and from a search's last key to its only row. */
const deviceLists = async (browser: Browser, baseUrl: string) => {
  const pages: number[] = []
  const searches: number[] = []
  for (let visit = 0; visit < VISITS; visit++) {
    const page = await browser.newPage()
    await page.goto(baseUrl)
    await whenSeen(page, HOME)
    const clicked = await nextEvent(page, 'click')
    await page.getByRole('link', { name: 'Devices', exact: true }).click()
    const listed = await whenSeen(page, 'tbody a[href^="/devices/"]')
    pages.push(listed.atMs - (await clicked()))
    const device = `device-${DEVICES - 1 - visit}`
    const typed = await nextEvent(page, 'input')
    await page.getByRole('searchbox').fill(device)
    const found = await whenSeen(page, `tbody a[href^="/devices/${device}"]`)
    searches.push(found.atMs - (await typed()))
    await page.close()
  }
  return { pages, searches }
}
