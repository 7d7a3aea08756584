import { readdirSync, readFileSync } from 'node:fs'

const TICK_MS = 10

interface Entry {
  readonly parent: number
  readonly milliseconds: number
}

const entryOf = (pid: string): Entry | null => {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    // The name, in parentheses, may contain anything.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return { parent: Number(fields[1]), milliseconds: (Number(fields[11]) + Number(fields[12])) * TICK_MS }
  } catch {
    return null
  }
}

/** Returns the CPU time of a process and its descendants, in milliseconds; NaN on systems other than Linux. */
export const processorTime = (root: number | undefined): number => {
  if (root === undefined || process.platform !== 'linux') return Number.NaN
  const entries = new Map<number, Entry>()
  for (const name of readdirSync('/proc')) {
    const entry = /^\d+$/.test(name) ? entryOf(name) : null
    if (entry !== null) entries.set(Number(name), entry)
  }
  let sum = 0
  for (const [pid, { milliseconds }] of entries) {
    for (let at: number | undefined = pid; at !== undefined && at > 1; at = entries.get(at)?.parent) {
      if (at !== root) continue
      sum += milliseconds
      break
    }
  }
  return sum
}
