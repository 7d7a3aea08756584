import { type ChildProcess, fork } from 'node:child_process'
import { createRequire } from 'node:module'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { threadEntry } from '../../../threads/thread-entry.ts'
import { InferenceError } from '../../errors.ts'
import type { Happening, News, Order } from './protocol.ts'
import type { LlamaOptions, ModelFacts, Settings } from './settings.ts'

/** The process in which a model runs, replaced when it dies. */
export interface Supervisor {
  readonly facts: ModelFacts
  readonly figures: Readonly<Record<string, number>>
  /** Gives an order whose answers go to `hear`; `died` is called instead when the process ends before the last of them. */
  ask(order: Asked, hear: (happening: Happening) => void, died: (error: InferenceError) => void): Ticket
  close(): Promise<void>
}

type Asked = Omit<Extract<Order, { type: 'chat' }>, 'id'> | Omit<Extract<Order, { type: 'count' }>, 'id'>

export interface Ticket {
  /** Nothing more is heard, and the process stops working on it. */
  cancel(): void
  /** Nothing more will come. */
  done(): void
}

const LAST_WORDS = 2000
const FIRST_PAUSE_MS = 200
const LONGEST_PAUSE_MS = 30_000
const KILL_AFTER_MS = 2000

interface Running {
  readonly child: ChildProcess
  readonly facts: ModelFacts
}

const failureOf = ({ code, message, param }: { code: InferenceError['code']; message: string; param: string | null }) =>
  new InferenceError(code, message, param === null ? {} : { param })

/** From source the process has to be taught TypeScript first. */
const loaderFor = (entry: URL): string[] =>
  entry.pathname.endsWith('.ts') ? ['--import', pathToFileURL(createRequire(import.meta.url).resolve('tsx')).href] : []

/** Starts the process and waits until the model is loaded. */
const start = (settings: Settings, listen: (news: News) => void): { ready: Promise<Running>; child: ChildProcess } => {
  const entry = threadEntry(import.meta.url, 'engine.process')
  const child = fork(fileURLToPath(entry), [], {
    execArgv: loaderFor(entry),
    // With more threads than one in libuv's pool each step may run on another one, and the cores' caches are cold.
    env: { ...process.env, UV_THREADPOOL_SIZE: '1' },
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  })
  let lastWords = ''
  child.stderr?.on('data', (chunk: Buffer) => {
    lastWords = (lastWords + chunk.toString()).slice(-LAST_WORDS)
  })
  const ready = new Promise<Running>((resolve, reject) => {
    child.on('message', (news: News) => {
      if (news.type === 'ready') resolve({ child, facts: news.facts })
      else if (news.type === 'refused') {
        child.kill('SIGKILL')
        reject(failureOf(news.failure))
      } else listen(news)
    })
    child.once('error', reject)
    child.once('exit', (code, signal) => {
      const how = signal === null ? `with code ${code}` : `by ${signal}`
      reject(
        new InferenceError(
          'engine_failed',
          `The engine's process ended ${how} while it loaded '${settings.path}'. ${lastWords.trim()}`,
        ),
      )
    })
  })
  child.send({ type: 'open', settings } satisfies Order)
  return { ready, child }
}

export const superviseEngine = async (
  settings: Settings,
  options: Pick<LlamaOptions, 'log' | 'name'>,
): Promise<Supervisor> => {
  const heard = new Map<number, { hear: (happening: Happening) => void; died: (error: InferenceError) => void }>()
  let figures: Readonly<Record<string, number>> = {}
  let restarts = 0
  let lastId = 0
  let closing = false
  let child: ChildProcess

  const listen = (news: News): void => {
    if (news.type === 'figures') figures = news.figures
    if (news.type !== 'step') return
    for (const happening of news.happenings) heard.get(happening.id)?.hear(happening)
  }

  /** `running` is what orders go to; while the process is being replaced, a promise of the next one. */
  let running: Promise<Running>
  let pause = FIRST_PAUSE_MS

  const startOnce = (): Promise<Running> => {
    const started = start(settings, listen)
    child = started.child
    return started.ready.then((ready) => {
      child.once('exit', (code, signal) => {
        if (closing) return
        restarts += 1
        figures = {}
        const how = signal === null ? `with code ${code}` : `by ${signal}`
        options.log(`the engine of ${options.name} ended ${how} and is started again`)
        running = restart()
        running.catch(() => undefined)
        const orphans = [...heard.values()]
        heard.clear()
        for (const { died } of orphans) {
          died(new InferenceError('engine_failed', `The engine ended ${how} and is started again. Ask once more.`))
        }
      })
      return ready
    })
  }

  const restart = async (): Promise<Running> => {
    for (;;) {
      await new Promise((resolve) => setTimeout(resolve, pause))
      pause = Math.min(pause * 2, LONGEST_PAUSE_MS)
      if (closing) throw new InferenceError('engine_failed', 'The engine is closed.')
      try {
        return await startOnce()
      } catch (error) {
        options.log(`the engine of ${options.name} could not be started: ${String(error)}`)
      }
    }
  }

  running = startOnce()
  const { facts } = await running

  return {
    facts,
    get figures() {
      return { ...figures, restarts_total: restarts }
    },
    ask: (order, hear, died) => {
      const id = (lastId += 1)
      heard.set(id, { hear, died })
      const send = (message: Order): void => {
        running.then(
          (ready) => {
            if (heard.has(id) || message.type === 'cancel') ready.child.send(message, () => undefined)
          },
          (error: InferenceError) => {
            if (heard.delete(id)) died(error)
          },
        )
      }
      send({ ...order, id })
      return {
        cancel: () => {
          if (heard.delete(id)) send({ type: 'cancel', id })
        },
        done: () => {
          pause = FIRST_PAUSE_MS
          heard.delete(id)
        },
      }
    },
    close: async () => {
      closing = true
      const gone = [...heard.values()]
      heard.clear()
      for (const { died } of gone) died(new InferenceError('engine_failed', 'The engine was closed.'))
      if (child.exitCode !== null || child.signalCode !== null) return
      const ended = new Promise((resolve) => child.once('exit', resolve))
      child.disconnect()
      const timer = setTimeout(() => child.kill('SIGKILL'), KILL_AFTER_MS)
      await ended
      clearTimeout(timer)
    },
  }
}
