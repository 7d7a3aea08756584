import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { onTestFinished } from 'vitest'
import { type AgentOptions, runAgent } from '../../src/agent/agent.ts'
import { noTrainer } from '../../src/agent/agent-trainer.ts'
import { commandHook } from '../../src/agent/delivery/model-hook.ts'
import { emptyFolder } from '../databases.ts'
import { builtFile } from './built-program.ts'

const PATIENCE_MS = 120_000

/** A device that takes part in no rounds. */
export interface Agent {
  readonly lines: string[]
  /** Resolves with the first line that contains the text; `from` is the number of lines to skip. */
  line(text: string, from?: number): Promise<string>
  /** Lines that a model's hook wrote to the agent's folder. */
  notes(): Promise<string[]>
  readonly folder: string
}

const agentOf = (lines: string[], folder: string): Agent => ({
  lines,
  folder,
  line: async (text, from = 0) => {
    for (const deadline = Date.now() + PATIENCE_MS; ; ) {
      const found = lines.slice(from).find((line) => line.includes(text))
      if (found !== undefined) return found
      if (Date.now() > deadline) throw new Error(`nobody said '${text}'; what was said:\n${lines.join('\n')}`)
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
  },
  notes: async () => {
    const text = await readFile(join(folder, 'notes'), 'utf8').catch(() => '')
    return text === '' ? [] : text.trimEnd().split('\n')
  },
})

export interface AgentProcess extends Agent {
  /** Like a power failure: no handler runs. */
  kill(): Promise<void>
}

/** Runs `svc agent` as a user does, with its own home and working directory. */
export const runAgentProcess = async (
  baseUrl: string,
  argv: readonly string[],
  folder: string,
): Promise<AgentProcess> => {
  const child: ChildProcess = spawn(
    process.execPath,
    [await builtFile('cli/main.js'), 'agent', '--interval', '1', ...argv],
    {
      cwd: folder,
      env: { PATH: process.env.PATH, HOME: folder, SERVICE_HOME: join(folder, 'home'), SERVICE_API_BASE: baseUrl },
      stdio: ['ignore', 'pipe', 'pipe'],
    },
  )
  const lines: string[] = []
  for (const stream of [child.stdout!, child.stderr!]) {
    createInterface({ input: stream }).on('line', (line) => lines.push(line))
  }
  const ended = once(child, 'exit')
  const kill = async (): Promise<void> => {
    child.kill('SIGKILL')
    await ended
  }
  onTestFinished(kill)
  return { ...agentOf(lines, folder), kill }
}

/** Returns a hook command for the shell, which starts faster than Node; it can use `note`, and `content` of the version. */
export const hookProgram = (body: string): string => `
  note() { echo "$*" >> notes; }
  content() { head -c 20 "$MODEL_PATH"; }
  ${body}`

/** Notes each version with its content. */
export const NOTE_CONTENT = hookProgram('note "$MODEL_VERSION $(content)"')

/** Starts many agents in this process, each with its own folder; they end with the test. */
export const startAgents = (
  baseUrl: string,
  names: readonly string[],
  hook: (name: string) => string,
  options: Partial<AgentOptions> = {},
): Promise<Agent[]> =>
  Promise.all(
    names.map(async (name) => {
      const folder = await emptyFolder()
      const stop = new AbortController()
      const lines: string[] = []
      const ended = runAgent({
        baseUrl,
        stateDir: folder,
        deviceId: name,
        trainer: () => noTrainer,
        hook: commandHook({ command: hook(name), cwd: folder, timeoutSeconds: 60, onLine: () => undefined }),
        intervalSeconds: 1,
        signal: stop.signal,
        log: (line) => lines.push(line),
        ...options,
      })
      onTestFinished(async () => {
        stop.abort(new Error('The test is over.'))
        await ended
      })
      return agentOf(lines, folder)
    }),
  )
