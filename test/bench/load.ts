import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { CleanUps } from './clean-ups.ts'

export interface Call {
  readonly method: string
  readonly path: string
  readonly key?: string
  readonly body?: unknown
}

/** Every connection sends one request after another: its share of the calls, repeatedly. */
export interface Load {
  readonly port: number
  readonly connections: number
  readonly calls: readonly Call[]
  /** How long to run; if undefined, every call is sent once. */
  readonly seconds?: number
  /** Starts this many requests per second in total, evenly spaced, instead of as many as possible. */
  readonly perSecond?: number
  /** Whether to return the response bodies, in the order of the calls. */
  readonly keepBodies?: boolean
}

export interface LoadResult {
  readonly seconds: number
  /** Of each response, in no particular order. */
  readonly latenciesMs: readonly number[]
  readonly bodies: readonly string[]
}

export interface LoadGenerator {
  /** Rejects if a response is not 2xx. */
  run(load: Load): Promise<LoadResult>
}

/** Starts a separate process that puts load on a service, so that sending requests does not slow down this one. */
export const startLoadGenerator = (cleanUps: CleanUps): LoadGenerator => {
  const child: ChildProcess = fork(fileURLToPath(new URL('load-generator.ts', import.meta.url)), {
    execArgv: ['--import', 'tsx'],
    serialization: 'advanced',
  })
  cleanUps.add(() => void child.kill())
  return {
    async run(load) {
      child.send(load)
      const [response] = (await once(child, 'message')) as [LoadResult | { failure: string }]
      if ('failure' in response) throw new Error(response.failure)
      return response
    },
  }
}
