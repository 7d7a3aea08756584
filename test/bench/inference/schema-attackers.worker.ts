import { parentPort, workerData } from 'node:worker_threads'
import { ATTACKERS, type Attack, type Attacked, chatOf } from './schema-attackers.ts'

// Clients that send requests without pause, in a separate thread, so that their cost does not count as the server's delay.

const { port, bodies, seconds } = workerData as Attack
const until = Date.now() + seconds * 1000
const statuses = new Set<number>()
let [largest, requested] = [0, 0]

const attack = async (): Promise<void> => {
  while (Date.now() < until) {
    let size = 0
    const body = bodies[requested++ % bodies.length]!
    statuses.add(
      await chatOf(port, body, (_, text) => {
        size += text.length
      }),
    )
    largest = Math.max(largest, size)
  }
}

await Promise.all(Array.from({ length: ATTACKERS }, attack))
parentPort!.postMessage({ statuses: [...statuses], largest, requested } satisfies Attacked)
