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

/** Every connection sends one request after another: the calls at its own places in the list, round and round. */
export interface Load {
  readonly port: number
  readonly connections: number
  readonly calls: readonly Call[]
  /** How long to go on; without it every call is sent once. */
  readonly seconds?: number
  /** Starts so many requests a second in all, evenly, instead of as many as there can be. */
  readonly perSecond?: number
  /** Whether the bodies of the answers are wanted, in the calls' order. */
  readonly keepBodies?: boolean
}

export interface LoadResult {
  readonly seconds: number
  /** Of each answered request, in no order. */
  readonly latenciesMs: readonly number[]
  readonly bodies: readonly string[]
}

export interface LoadGenerator {
  /** Rejects when an answer is not of the 2xx kind. */
  run(load: Load): Promise<LoadResult>
}

/** A process of its own that puts load on a service, so that making requests does not slow down what is measured here. */
export const startLoadGenerator = (cleanUps: CleanUps): LoadGenerator => {
  const child: ChildProcess = fork(fileURLToPath(new URL('load-generator.ts', import.meta.url)), {
    execArgv: ['--import', 'tsx'],
    serialization: 'advanced',
  })
  cleanUps.add(() => void child.kill())
  return {
    async run(load) {
      child.send(load)
      const [answer] = (await once(child, 'message')) as [LoadResult | { failure: string }]
      if ('failure' in answer) throw new Error(answer.failure)
      return answer
    },
  }
}
