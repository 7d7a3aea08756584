import type { ChildProcess } from 'node:child_process'
import { basename } from 'node:path'
import { errorMessage } from '../../../domain/error-message.ts'
import { InferenceError, type LoadedFiles, withoutFolders } from '../../errors.ts'
import { type EngineProgram, startProgram } from './engine-process.ts'
import { type Command, type EngineRequest, type EngineResponse, errorOf, type Message } from './protocol.ts'

/** A model's process, which is replaced when it dies. */
export interface Supervisor<Facts> {
  readonly facts: Facts
  readonly figures: Readonly<Record<string, number>>
  /** Sends a request. Its responses go to `hear`; `died` is called if the process ends before the last one. */
  ask(requested: EngineRequest, hear: (response: EngineResponse) => void, died: (error: InferenceError) => void): Ticket
  close(): Promise<void>
}

export interface Ticket {
  /** Ignores further responses and stops the work on the request. */
  cancel(): void
  /** Removes the request after its last response. */
  done(): void
}

const STDERR_TAIL_LENGTH = 2000
const FIRST_PAUSE_MS = 200
const MAX_PAUSE_MS = 30_000
const KILL_AFTER_MS = 2000

export interface ProcessOptions<Settings extends LoadedFiles> {
  readonly program: EngineProgram
  readonly settings: Settings
  /** The model as the user named it, for the log. */
  readonly name: string
  readonly log: (line: string) => void
}

interface Running<Facts> {
  readonly child: ChildProcess
  readonly facts: Facts
}

/** Starts the process and waits until the model is loaded. */
const start = <Settings extends LoadedFiles, Facts>(
  { program, settings }: ProcessOptions<Settings>,
  listen: (message: Message<Facts>) => void,
): { ready: Promise<Running<Facts>>; child: ChildProcess } => {
  const child = startProgram(program)
  let stderrTail = ''
  child.stderr?.on('data', (chunk: Buffer) => {
    stderrTail = (stderrTail + chunk.toString()).slice(-STDERR_TAIL_LENGTH)
  })
  const ready = new Promise<Running<Facts>>((resolve, reject) => {
    const fail = (error: Error): void =>
      reject(
        new InferenceError(
          'engine_failed',
          `The engine's process could not be started: ${error.message}. If the system has run out of files, processes, or memory, free some or raise its limits, then try again.`,
          { cause: error },
        ),
      )
    child.on('message', (message: Message<Facts>) => {
      if (message.type === 'ready') resolve({ child, facts: message.facts })
      else if (message.type === 'refused') {
        child.kill('SIGKILL')
        reject(errorOf(message.failure))
      } else listen(message)
    })
    // Stays attached, because an 'error' event without a listener would end this process.
    child.on('error', fail)
    child.once('exit', (code, signal) => {
      const how = signal === null ? `with code ${code}` : `by ${signal}`
      reject(
        new InferenceError(
          'engine_failed',
          `The engine's process ended ${how} while it loaded '${basename(settings.path)}'. ${stderrTail.trim()}`,
        ),
      )
    })
    // Without free file descriptors there is no channel. An 'error' event with the reason follows.
    if (child.connected) {
      child.send({ type: 'open', settings } satisfies Command<Settings>, (error) => {
        if (error !== null) fail(error)
      })
    }
  })
  ready.catch(() => undefined)
  return { ready, child }
}

/** @throws InferenceError the reason that the process refused the model, or died */
export const superviseProcess = async <Settings extends LoadedFiles, Facts>(
  options: ProcessOptions<Settings>,
): Promise<Supervisor<Facts>> => {
  /** Requests without a final response. */
  const pending = new Map<number, { hear: (response: EngineResponse) => void; died: (error: InferenceError) => void }>()
  let figures: Readonly<Record<string, number>> = {}
  let restarts = 0
  let lastId = 0
  let closing = false
  let child: ChildProcess

  const listen = (message: Message<Facts>): void => {
    if (message.type === 'figures') figures = message.figures
    if (message.type === 'warning') options.log(`the engine of ${options.name}: ${message.message}`)
    if (message.type !== 'step') return
    for (const { id, ...response } of message.events) pending.get(id)?.hear(response)
  }

  const rejectPending = (error: InferenceError): void => {
    const rejected = [...pending.values()]
    pending.clear()
    for (const { died } of rejected) died(error)
  }

  /** The process that gets requests, or a promise of the next one during a restart. */
  let running: Promise<Running<Facts>>
  let pause = FIRST_PAUSE_MS

  const startOnce = (): Promise<Running<Facts>> => {
    const started = start(options, listen)
    child = started.child
    return started.ready.then((ready) => {
      child.once('exit', (code, signal) => {
        if (closing) return
        restarts += 1
        figures = {}
        const how = signal === null ? `with code ${code}` : `by ${signal}`
        options.log(`the engine of ${options.name} ended ${how} and is being restarted`)
        running = restart()
        running.catch(() => undefined)
        rejectPending(new InferenceError('engine_failed', `The engine ended ${how} and is being restarted. Try again.`))
      })
      return ready
    })
  }

  const restart = async (): Promise<Running<Facts>> => {
    for (;;) {
      await new Promise((resolve) => setTimeout(resolve, pause))
      pause = Math.min(pause * 2, MAX_PAUSE_MS)
      if (closing) throw new InferenceError('engine_failed', 'The engine is closed.')
      try {
        return await startOnce()
      } catch (error) {
        options.log(`the engine of ${options.name} could not be started: ${String(error)}`)
        // Waiting requests fail with the reason instead of waiting for a restart that succeeds.
        const reason = withoutFolders(errorMessage(error), options.settings)
        rejectPending(new InferenceError('engine_failed', `The engine ended and could not be restarted: ${reason}`))
      }
    }
  }

  running = startOnce()
  const { facts } = await running

  return {
    facts,
    get figures() {
      return { ...figures, process_id: child.pid ?? 0, restarts_total: restarts }
    },
    ask: (requested, hear, died) => {
      const id = (lastId += 1)
      pending.set(id, { hear, died })
      const send = (message: Command<Settings>): void => {
        running.then(
          (ready) => {
            if (pending.has(id) || message.type === 'cancel') ready.child.send(message, () => undefined)
          },
          (error: InferenceError) => {
            if (pending.delete(id)) died(error)
          },
        )
      }
      send({ ...requested, id })
      return {
        cancel: () => {
          if (pending.delete(id)) send({ type: 'cancel', id })
        },
        done: () => {
          pause = FIRST_PAUSE_MS
          pending.delete(id)
        },
      }
    },
    close: async () => {
      closing = true
      rejectPending(new InferenceError('engine_failed', 'The engine was closed.'))
      if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return
      const ended = new Promise((resolve) => child.once('exit', resolve))
      child.disconnect()
      const timer = setTimeout(() => child.kill('SIGKILL'), KILL_AFTER_MS)
      await ended
      clearTimeout(timer)
    },
  }
}
