import { type SpawnOptions, spawn } from 'node:child_process'
import { rm, writeFile } from 'node:fs/promises'
import { constants } from 'node:os'
import { findProgram } from '../../inference/find-program.ts'
import { readGgufHeader } from '../../inference/models/gguf/header.ts'
import { findModel } from '../../inference/models/model-folder.ts'
import { looksLikePath } from '../../inference/models/model-name.ts'
import { makeTemporaryFolder } from '../../platform/files/temporary-folder.ts'
import { ExitCode } from '../exit-code.ts'
import { Failure } from '../failure.ts'
import type { SessionIo } from '../io.ts'
import { localName } from '../model-sources/local-model.ts'
import type { Session } from '../session.ts'
import { AGENTS, DEFAULT_MODEL } from './agents.ts'
import { batchCommand } from './command-line.ts'
import { type LocalServer, modelOf, startServer } from './local-server.ts'
import { serverAt, serverKey } from './running-server.ts'

export interface LaunchOptions {
  readonly model?: string
  readonly port: number
}

/** Agents start with long instructions; few machines have memory for more than this. */
const CONTEXT_TOKENS = 32_768

const contextOptions = async (session: Session, name: string): Promise<readonly string[]> => {
  const file = await findModel(name, session.home.folder, session.io.cwd)
  if (file.format !== 'gguf') return []
  const { contextTokens } = await readGgufHeader(file.path)
  return ['--context', String(Math.min(contextTokens, CONTEXT_TOKENS)), '--slots', '2']
}

/** Returns the server and the model to use. */
const openServer = async (
  session: Session,
  { model, port }: LaunchOptions,
): Promise<readonly [LocalServer, model: string]> => {
  const { io, home } = session
  const running = await serverAt(`http://127.0.0.1:${port}`, session)
  if (running !== null) {
    // A server lists a model loaded from a path under its file name.
    const requested = model && looksLikePath(model) ? (await findModel(model, home.folder, io.cwd)).name : model
    return [{ ...running, stop: () => Promise.resolve() }, modelOf(running, requested ?? null)]
  }
  const name = await localName(model ?? (io.env.SERVICE_MODEL || DEFAULT_MODEL), session)
  const started = await startServer(session, name, port, await contextOptions(session, name))
  return [started, modelOf(started, null)]
}

/** Ctrl-C also reaches the agent, which handles it itself: it must not stop svc or the server. */
const withoutInterrupts = async <Result>(run: () => Promise<Result>): Promise<Result> => {
  const before = process.listeners('SIGINT')
  const ignore = (): void => undefined
  process.removeAllListeners('SIGINT')
  process.on('SIGINT', ignore)
  try {
    return await run()
  } finally {
    process.off('SIGINT', ignore)
    for (const listener of before) process.on('SIGINT', listener)
  }
}

interface AgentRun {
  readonly path: string
  readonly argv: readonly string[]
  readonly env: Readonly<Record<string, string>>
}

/** Runs the agent in this terminal and returns its exit code, like a shell. */
const runAgent = ({ path, argv, env }: AgentRun, io: SessionIo): Promise<number> =>
  withoutInterrupts(
    () =>
      new Promise((resolve, reject) => {
        const options: SpawnOptions = { stdio: 'inherit', cwd: io.cwd, env: { ...io.env, ...env } }
        const child = /\.(cmd|bat)$/i.test(path)
          ? spawn(process.env.ComSpec ?? 'cmd.exe', ['/d', '/s', '/c', batchCommand(path, argv)], {
              ...options,
              windowsVerbatimArguments: true,
            })
          : spawn(path, argv, options)
        const stop = (): void => void child.kill('SIGTERM')
        io.signal.addEventListener('abort', stop, { once: true })
        child.once('error', reject)
        child.once('exit', (code, signal) => {
          io.signal.removeEventListener('abort', stop)
          resolve(code ?? 128 + constants.signals[signal!])
        })
      }),
  )

/** Runs a coding agent with a local model, and starts a server if there is none. */
export const launch = async (
  session: Session,
  name: string,
  rest: readonly string[],
  options: LaunchOptions,
): Promise<never> => {
  const { io, out } = session
  const agent = AGENTS.find((known) => known.name === name)!
  const path = await findProgram(agent.name, io.env)
  if (path === null) {
    throw new Failure(`${agent.name} is not installed: there is no ${agent.name} on the PATH.`, {
      advice: `Install it: ${agent.install}`,
    })
  }
  const closing: (() => Promise<void>)[] = []
  try {
    const [server, model] = await openServer(session, options)
    closing.push(server.stop)
    const folder = await makeTemporaryFolder('svc-launch')
    closing.push(() => rm(folder, { recursive: true, force: true }))
    const {
      env,
      argv,
      files = {},
    } = agent.setUp({ url: server.url, model, folder, key: serverKey(io.env) ?? 'not-needed' })
    for (const [file, text] of Object.entries(files)) await writeFile(file, text, { mode: 0o600 })
    out.note(`${agent.name} uses ${model} at ${server.url}.`)
    throw new ExitCode(await runAgent({ path, argv: [...argv, ...rest], env }, io))
  } finally {
    for (const close of closing.reverse()) await close()
  }
}
