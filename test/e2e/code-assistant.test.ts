import { spawn } from 'node:child_process'
import { connect } from 'node:net'
import { PassThrough } from 'node:stream'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { type Ran, runInProcess } from '../../src/cli/in-process.fixture.ts'
import { Interrupted } from '../../src/cli/io.ts'
import { openStarter, serveForTest, type TestInference } from '../../src/inference/api/test-inference.fixture.ts'
import type { Engine } from '../../src/inference/engines/engine.ts'
import { freePort } from '../../src/inference/engines/proxied/free-port.ts'
import { emptyFolder } from '../databases.ts'
import { hasBrowser, openTab } from './browser.ts'
import { builtFile } from './built-program.ts'

const QUESTION = 'What is the capital of France?'
const ANSWER = 'The capital of France is Paris.'

let engine: Engine
let server: TestInference

beforeAll(async () => {
  engine = await openStarter()
  server = await serveForTest(engine)
})

afterAll(async () => {
  await server.close()
  await engine.close()
})

interface Assistant {
  readonly url: string
  readonly input: PassThrough
  /** Everything printed so far. */
  readonly printed: () => string
  readonly ran: Promise<Ran>
  stop(): Promise<Ran>
}

const start = async (...argv: string[]): Promise<Assistant> => {
  const input = new PassThrough()
  const stop = new AbortController()
  let printed = ''
  let opened = (_url: string): void => undefined
  const url = new Promise<string>((resolve) => {
    opened = resolve
  })
  const ran = runInProcess(['demo', 'code-assistant', '--port', '0', ...argv], {
    env: { SERVICE_HOME: await emptyFolder() },
    stdin: input,
    signal: stop.signal,
    onOutput: (text) => {
      printed += text
      const found = /Code assistant: (\S+)/.exec(printed)?.[1]
      if (found !== undefined) opened(found)
    },
  })
  const ended = ran.then(({ stderr }) => Promise.reject(new Error(`it ended: ${stderr}`)))
  const assistant: Assistant = {
    url: await Promise.race([url, ended]),
    input,
    printed: () => printed,
    ran,
    stop: () => {
      stop.abort(new Interrupted('SIGINT'))
      return ran
    },
  }
  onTestFinished(async () => void (await assistant.stop()))
  return assistant
}

describe('the code assistant in the terminal', () => {
  it('answers questions, remembers the conversation, starts a new one, and ends', async () => {
    const assistant = await start('--url', server.url)
    assistant.input.write(`${QUESTION}\n`)
    await expect.poll(assistant.printed).toContain(`${ANSWER}\n\n`)
    assistant.input.write('/new\n\n/exit\n')
    const { exitCode, stdout, stderr } = await assistant.ran
    expect({ exitCode, stdout, stderr }).toEqual({
      exitCode: 0,
      stdout: `Code assistant: ${assistant.url}\n${ANSWER}\n\n`,
      stderr: `It uses starter at ${server.url}. You can also ask here: /new starts over, /exit quits.\n`,
    })
    await expect(fetch(assistant.url)).rejects.toThrow()
  })

  it('keeps serving the page if there is no terminal input', async () => {
    const assistant = await start('--url', `${server.url}/v1`)
    assistant.input.end()
    const page = await fetch(assistant.url)
    expect([page.status, page.headers.get('content-security-policy')]).toEqual([
      200,
      expect.stringMatching(
        /^default-src 'none'; script-src 'sha256-\S{44}'; style-src 'sha256-\S{44}'; connect-src 'self'/,
      ),
    ])
    expect((await assistant.stop()).exitCode).toBe(130)
  })

  it('is available on this machine only', async () => {
    const assistant = await start('--url', server.url)
    const { port } = new URL(assistant.url)
    const ask = async (headers: string): Promise<string> => {
      const socket = connect(Number(port), '127.0.0.1')
      socket.write(`GET / HTTP/1.1\r\n${headers}\r\nConnection: close\r\n\r\n`)
      let text = ''
      for await (const chunk of socket) text += chunk
      return text.split('\r\n')[0]!
    }
    expect([
      await ask(`Host: localhost:${port}`),
      await ask(`Host: evil.example:${port}`),
      await ask(`Host: localhost:${port}\r\nOrigin: http://evil.example`),
    ]).toEqual(['HTTP/1.1 200 OK', 'HTTP/1.1 403 Forbidden', 'HTTP/1.1 403 Forbidden'])
  })

  it('reports that there is no server and that it may not start one', async () => {
    const url = `http://127.0.0.1:${await freePort()}`
    const argv = ['demo', 'code-assistant', '--port', '0', '--no-auto-start', '--url', url]
    expect(await runInProcess(argv, { env: { SERVICE_HOME: await emptyFolder() } })).toEqual({
      exitCode: 1,
      stdout: '',
      stderr:
        `svc: There is no inference server at ${url}.\n` +
        'Start one with svc serve, or leave out --url and --no-auto-start.\n',
    })
  })

  it('starts its own server if there is none, and stops it at the end', async () => {
    const env = { ...process.env, SERVICE_HOME: await emptyFolder() }
    const argv = [await builtFile('cli/main.js'), 'demo', 'code-assistant', '--port', '0', '--model', 'starter']
    const child = spawn(process.execPath, argv, { env, stdio: ['pipe', 'pipe', 'pipe'] })
    onTestFinished(() => void child.kill('SIGKILL'))
    let output = ''
    child.stderr.on('data', (chunk) => {
      output += chunk
    })
    await expect.poll(() => output).toMatch(/ uses starter at http:\S+\d\./)
    const address = /at (http:\S+\d)\./.exec(output)![1]!
    expect((await fetch(`${address}/v1/models`)).status).toBe(200)
    child.kill('SIGKILL')
    const responses = () =>
      fetch(`${address}/v1/models`).then(
        () => true,
        () => false,
      )
    await expect.poll(responses).toBe(false)
  })
})

describe.skipIf(!hasBrowser())('the code assistant in a browser', () => {
  const open = async (...argv: string[]) => {
    const assistant = await start('--url', server.url, ...argv)
    const tab = await openTab()
    await tab.page.goto(assistant.url)
    await tab.page.locator('#model').getByText('starter').waitFor()
    const field = tab.page.getByLabel('Your question')
    const responses = tab.page.locator('.assistant .body')
    return { ...tab, assistant, field, responses }
  }

  it('streams the answer to a question, and keeps the conversation', async () => {
    const { page, field, responses, problems } = await open()
    expect(await page.title()).toBe('Code assistant: starter')
    const hint = page.getByText('What shall we write?')
    expect(await hint.isVisible()).toBe(true)
    await field.fill(QUESTION)
    await field.press('Enter')
    await page.getByRole('status').getByText('The answer is complete.').waitFor({ state: 'attached' })
    expect(await responses.allTextContents()).toHaveLength(1)
    expect(await page.locator('.user .body').textContent()).toBe(QUESTION)
    expect(await responses.first().textContent()).not.toBe('')
    expect([await field.inputValue(), await hint.isVisible()]).toEqual(['', false])
    await page.getByRole('button', { name: 'New chat' }).click()
    expect(await responses.count()).toBe(0)
    expect(await hint.isVisible()).toBe(true)
    expect(problems).toEqual([])
  })

  it('shows code as code, and markup in an answer as text', async () => {
    const { page, field, responses, problems } = await open()
    const reply = [
      'Try:\n\n```js\nconst a = "<b>1</b>" // one\n```\n\n- first\n- `second`\n\n<img src=x onerror=alert(1)> **bold**',
    ]
    await page.route('**/v1/chat/completions', (route) =>
      route.fulfill({
        contentType: 'text/event-stream',
        body: `${reply.map((content) => `data: ${JSON.stringify({ choices: [{ delta: { content } }] })}\n\n`).join('')}data: [DONE]\n\n`,
      }),
    )
    await field.fill('x')
    await field.press('Enter')
    await page.locator('pre').waitFor()
    const response = responses.first()
    await expect.poll(() => response.locator('li').allTextContents()).toEqual(['first', 'second'])
    expect(await response.locator('pre').textContent()).toBe('const a = "<b>1</b>" // one')
    expect(await response.locator('figcaption span').textContent()).toBe('js')
    expect(await response.locator('.keyword').allTextContents()).toEqual(['const'])
    expect(await response.locator('.comment').allTextContents()).toEqual(['// one'])
    expect(await response.locator('img, b').count()).toBe(0)
    expect(await response.locator('strong').textContent()).toBe('bold')
    expect(problems).toEqual([])
  })

  it('an answer can be stopped, and errors are shown', async () => {
    const { page, field, responses } = await open()
    await page.route('**/v1/chat/completions', (route) =>
      route.fulfill({ status: 503, json: { error: { message: 'The queue is full.' } } }),
    )
    await field.fill('x')
    await page.getByRole('button', { name: 'Send' }).click()
    expect(await page.getByRole('alert').textContent()).toBe('The queue is full.')
    await page.unroute('**/v1/chat/completions')
    await page.route('**/v1/chat/completions', () => undefined)
    await field.fill('y')
    await field.press('Enter')
    await page.getByRole('button', { name: 'Stop' }).click()
    await expect.poll(() => responses.last().textContent()).toBe('Stopped.')
    expect(await page.getByRole('button', { name: 'Send' }).isVisible()).toBe(true)
  })

  it("follows the system's light or dark mode until the user chooses", async () => {
    const { page } = await open()
    const color = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor)
    await page.emulateMedia({ colorScheme: 'light' })
    const light = await color()
    await page.emulateMedia({ colorScheme: 'dark' })
    const dark = await color()
    expect([light, dark]).toEqual(['rgb(246, 247, 247)', 'rgb(17, 21, 22)'])
    await page.getByRole('button', { name: 'Change to light colors' }).click()
    expect(await color()).toBe(light)
    await page.reload()
    expect(await color()).toBe(light)
  })
})
