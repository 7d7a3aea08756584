import { readdirSync, readFileSync, statSync } from 'node:fs'
import { availableParallelism } from 'node:os'

/** Weights of this size keep all cores busy; with smaller ones the cores mostly wait for each other and for the server. */
const LARGE_BYTES = 256 * 2 ** 20

const CPUS = '/sys/devices/system/cpu'

/** Two threads of one core are slower than one: they share what computes. Known on Linux; elsewhere every processor counts. */
const physicalCores = (): number => {
  try {
    const cpus = readdirSync(CPUS).filter((name) => /^cpu\d+$/.test(name))
    const cores = new Set(cpus.map((cpu) => readFileSync(`${CPUS}/${cpu}/topology/thread_siblings_list`, 'utf8')))
    return cores.size || availableParallelism()
  } catch {
    return availableParallelism()
  }
}

/** How many threads compute with the model in this file: all cores for a large one, else one is left to the server. */
export const threadCountFor = (path: string): number => {
  const size = statSync(path, { throwIfNoEntry: false })?.size ?? 0
  const available = availableParallelism()
  return size >= LARGE_BYTES ? Math.min(physicalCores(), available) : Math.max(1, available - 1)
}
