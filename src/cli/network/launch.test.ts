import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { emptyFolder } from '../../../test/databases.ts'
import { builtFile } from '../../../test/e2e/built-program.ts'
import { openStarter, serveForTest, type TestInference } from '../../inference/api/test-inference.fixture.ts'
import type { Engine } from '../../inference/engines/engine.ts'
import { freePort } from '../../inference/engines/proxied/free-port.ts'
import { runInProcess } from '../in-process.fixture.ts'

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

/** Creates a program with this name in a separate PATH folder; it runs the script. */
const putAgent = async (name: string, script: string): Promise<string> => {
  const folder = await emptyFolder()
  const file = join(folder, 'agent.mjs')
  await writeFile(file, script)
  await writeFile(join(folder, name), `#!/bin/sh\nexec '${process.execPath}' '${file}' "$@"\n`, { mode: 0o755 })
  return folder
}

const TELL = `
  import { readFileSync } from 'node:fs'
  const { env, argv } = process
  const names = /^(OPENAI|ANTHROPIC|OPENCLAW|CLAUDE)_/
  const config = env.OPENCLAW_CONFIG_PATH && JSON.parse(readFileSync(env.OPENCLAW_CONFIG_PATH, 'utf8'))
  const reported = Object.fromEntries(Object.entries(env).filter(([name]) => names.test(name)))
  console.log(JSON.stringify({ env: reported, argv: argv.slice(2), config }))
  process.exit(7)`

/** Runs the whole program, because the agent inherits its terminal. */
const svc = async (PATH: string, ...argv: string[]) => {
  const env = { SERVICE_HOME: await emptyFolder(), PATH }
  const child = spawn(process.execPath, [await builtFile('cli/main.js'), ...argv], {
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let stdout = ''
  let stderr = ''
  child.stdout.on('data', (chunk) => {
    stdout += chunk
  })
  child.stderr.on('data', (chunk) => {
    stderr += chunk
  })
  const [exitCode] = await once(child, 'close')
  return { exitCode, stdout, stderr }
}

const tell = async (agent: string, ...rest: string[]) => {
  const ran = await svc(await putAgent(agent, TELL), 'launch', agent, '--port', String(server.port), ...rest)
  return { ...ran, reported: ran.stdout === '' ? null : JSON.parse(ran.stdout) }
}

describe('svc launch', () => {
  it('points aider at the running server, and exits with its exit code', async () => {
    const { reported, exitCode, stderr } = await tell('aider', '--', '--yes', '--verbose', 'src/a.ts')
    expect({ reported, exitCode, stderr }).toEqual({
      reported: {
        env: { OPENAI_API_BASE: `${server.url}/v1`, OPENAI_API_KEY: 'not-needed' },
        argv: ['--model', 'openai/starter', '--yes', '--verbose', 'src/a.ts'],
      },
      exitCode: 7,
      stderr: `aider uses starter at ${server.url}.\n`,
    })
  })

  it('gives openclaw its own configuration', async () => {
    const { reported } = await tell('openclaw', '--model', 'starter')
    expect(reported.config).toEqual({
      models: {
        mode: 'merge',
        providers: {
          svc: {
            baseUrl: `${server.url}/v1`,
            apiKey: 'not-needed',
            api: 'openai-completions',
            models: [{ id: 'starter', name: 'starter' }],
          },
        },
      },
      agents: { defaults: { model: { primary: 'svc/starter' } } },
    })
    await expect(readFile(reported.env.OPENCLAW_CONFIG_PATH)).rejects.toThrow('ENOENT')
  })

  it('points claude and codex at the server itself', async () => {
    const { reported, stderr } = await tell('claude')
    expect(reported).toEqual({
      env: {
        ANTHROPIC_BASE_URL: server.url,
        ANTHROPIC_AUTH_TOKEN: 'not-needed',
        ANTHROPIC_API_KEY: '',
        ANTHROPIC_MODEL: 'starter',
        ANTHROPIC_DEFAULT_OPUS_MODEL: 'starter',
        ANTHROPIC_DEFAULT_SONNET_MODEL: 'starter',
        ANTHROPIC_DEFAULT_HAIKU_MODEL: 'starter',
        CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
      },
      argv: ['--model', 'starter'],
    })
    expect(stderr).toBe(`claude uses starter at ${server.url}.\n`)
    const codex = await tell('codex', '--', 'exec', 'hi')
    expect(codex.reported.argv).toEqual([
      '-c',
      'model_provider="svc"',
      '-c',
      `model_providers.svc={name="svc",base_url="${server.url}/v1",env_key="OPENAI_API_KEY",wire_api="responses"}`,
      '-c',
      'web_search="disabled"',
      '--model',
      'starter',
      'exec',
      'hi',
    ])
  })

  it('starts a server if there is none, and stops it with the agent', async () => {
    const port = await freePort()
    const script = `
      const url = process.env.OPENAI_API_BASE
      const body = { model: 'starter', temperature: 0, messages: [{ role: 'user', content: 'What is the capital of France?' }] }
      const headers = { 'content-type': 'application/json' }
      const response = await fetch(url + '/chat/completions', { method: 'POST', headers, body: JSON.stringify(body) })
      console.log((await response.json()).choices[0].message.content)`
    const path = await putAgent('aider', script)
    const ran = await svc(path, 'launch', 'aider', '--model', 'starter', '--port', String(port))
    expect(ran).toEqual({
      exitCode: 0,
      stdout: 'The capital of France is Paris.\n',
      stderr: `Starting a server with starter on port ${port} ...\naider uses starter at http://127.0.0.1:${port}.\n`,
    })
    await expect(fetch(`http://127.0.0.1:${port}/v1/models`)).rejects.toThrow()
  })

  it('says what is missing: the agent, the model, or a server on that port', async () => {
    const home = await emptyFolder()
    const run = async (PATH: string, ...argv: string[]) => {
      const env = { SERVICE_HOME: home, PATH }
      const { exitCode, stderr } = await runInProcess(['launch', 'aider', ...argv], { env })
      return { exitCode, stderr }
    }
    const path = await putAgent('aider', TELL)
    const other = createServer((_request, response) => void response.end('<p>hello')).listen(0, '127.0.0.1')
    await once(other, 'listening')
    onTestFinished(() => void other.close())
    const otherPort = (other.address() as AddressInfo).port
    const port = String(await freePort())
    expect([
      await run(await emptyFolder()),
      await run(path, '--port', port),
      await run(path, '--port', String(server.port), '--model', 'big'),
      await run(path, '--port', String(otherPort)),
    ]).toEqual([
      {
        exitCode: 1,
        stderr:
          'svc: aider is not installed: there is no aider on the PATH.\n' +
          'Install it: python -m pip install aider-install && aider-install\n',
      },
      {
        exitCode: 1,
        stderr:
          "svc: There is no model 'qwen3'. Models: starter. Give hf:org/model, ollama:name, or the path of a GGUF file or a model folder, or put one in " +
          `${join(home, 'models')}.\n`,
      },
      {
        exitCode: 1,
        stderr:
          `svc: The server at ${server.url} has no model 'big'. It has: starter.\n` +
          "Choose one of them with --model, or choose another --port to start a server with 'big'.\n",
      },
      {
        exitCode: 1,
        stderr:
          `svc: The program at http://127.0.0.1:${otherPort} is not an inference server: it lists no models at /v1/models.\n` +
          'Choose another address or port, or stop that program.\n',
      },
    ])
  })
})
