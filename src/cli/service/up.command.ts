import { spawn } from 'node:child_process'
import { resolve } from 'node:path'
import { createInterface } from 'node:readline'
import type { Command } from 'commander'
import { askToEnd } from '../../platform/threads/ask-to-end.ts'
import { Failure } from '../failure.ts'
import { openBrowser } from '../login/open-browser.ts'
import { numberFrom } from '../options.ts'
import type { Session } from '../session.ts'
import { serviceProgram, serviceSettings } from './service-program.ts'
import { keepKey, signInWithoutKey } from './sign-in.ts'

interface UpOptions {
  readonly port?: number
  readonly host?: string
  readonly dataDir?: string
  readonly open?: true
}

const settingsOf = ({ port, host, dataDir }: UpOptions, io: Session['io']): NodeJS.ProcessEnv =>
  serviceSettings(io, {
    ...(port !== undefined && { SERVICE_PORT: String(port) }),
    ...(host !== undefined && { SERVICE_HOST: host }),
    ...(dataDir !== undefined && { SERVICE_DATA_DIR: resolve(io.cwd, dataDir) }),
  })

/** `http://0.0.0.0:8000` -> `http://127.0.0.1:8000`: the address for a browser on this machine. */
const reachable = (address: string): string => address.replace('//0.0.0.0', '//127.0.0.1').replace('//[::]', '//[::1]')

/** Runs the service until it exits or is asked to stop, which it does cleanly. @throws Failure if it exits by itself */
const up = async (options: UpOptions, session: Session): Promise<void> => {
  const { io, out } = session
  const child = spawn(process.execPath, [...process.execArgv, serviceProgram()], {
    cwd: io.cwd,
    env: settingsOf(options, io),
    // The service stops when the channel closes, however svc ends.
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    // Ctrl-C reaches only svc, which then stops the service once.
    detached: true,
  })
  const kill = (): void => void child.kill('SIGKILL')
  process.once('exit', kill)
  const stop = (): void => {
    out.note('Stopping the service once requests in progress are done.')
    askToEnd(child)
  }
  const ended = new Promise<readonly [code: number | null, signal: string | null]>((done, fail) => {
    child.once('error', fail)
    child.once('close', (code, signal) => done([code, signal]))
  })
  if (io.signal.aborted) stop()
  io.signal.addEventListener('abort', stop, { once: true })

  let address: string | null = null
  const welcome = async (at: string): Promise<void> => {
    address = reachable(at)
    // Signs in first, so that commands work as soon as the address is shown.
    await signInWithoutKey(session, address).catch((error: Error) => out.note(error.message))
    out.line(`Dashboard: ${address}/`)
    out.line(`API:       ${address}/api/v1, reference: ${address}/docs`)
    out.note('Ctrl-C stops the service; its data is kept.')
    const show = io.openBrowser ?? openBrowser
    if (options.open) show(`${address}/`)
  }
  const tell = async (line: string): Promise<void> => {
    const at = /listening on (\S+)/.exec(line)?.[1]
    const key = /^Admin key.*: (sk_live_\w+)$/.exec(line)?.[1]
    if (at !== undefined) return welcome(at)
    if (key !== undefined && address !== null) {
      // The key is shown only this once; it cannot be retrieved later.
      io.stdout.write(`${line}\n`)
      return keepKey(session, address, key)
    }
    if (line.startsWith('{')) return out.note(line)
    if (!/^SIG(TERM|INT)/.test(line)) out.line(line)
  }
  createInterface({ input: child.stderr! }).on('line', out.note)
  let reported: Promise<void> = Promise.resolve()
  createInterface({ input: child.stdout! }).on('line', (line) => {
    reported = reported.then(() => tell(line)).catch((error: Error) => out.note(error.message))
  })
  try {
    const [code, signal] = await ended
    await reported
    if (io.signal.aborted) return
    throw new Failure(`The service ended ${signal === null ? `with exit code ${code}` : `by ${signal}`}.`, {
      advice: signal === 'SIGKILL' ? 'The system does this if memory runs out.' : 'See its output above.',
    })
  } finally {
    process.off('exit', kill)
    io.signal.removeEventListener('abort', stop)
  }
}

export const define = (command: Command, session: Session): void => {
  command
    .option(
      '--port <port>',
      'port to listen on (default: SERVICE_PORT, else 8000)',
      numberFrom({ min: 0, max: 65_535 }),
    )
    .option(
      '--host <address>',
      'address to listen on; 0.0.0.0 accepts other machines, which need keys (default: SERVICE_HOST, else this machine only)',
    )
    .option('--data-dir <folder>', 'database and weight files (default: SERVICE_DATA_DIR, else ~/.svc/data)')
    .option('--open', 'open the dashboard in a browser')
    .action((options: UpOptions) => up(options, session))
}
