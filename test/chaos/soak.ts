import type { Installation } from './installation.ts'

interface Sample {
  readonly minutes: number
  readonly megabytes: number
  readonly descriptors: number
}

/** Least-squares slope: the growth per minute. */
const slope = (samples: readonly Sample[], of: (sample: Sample) => number): number => {
  const mean = (value: (sample: Sample) => number) =>
    samples.reduce((sum, each) => sum + value(each), 0) / samples.length
  const [x, y] = [mean((each) => each.minutes), mean(of)]
  const spread = samples.reduce((sum, each) => sum + (each.minutes - x) ** 2, 0)
  return samples.reduce((sum, each) => sum + (each.minutes - x) * (of(each) - y), 0) / spread
}

/** Tracks memory and descriptors of each process over time. Slopes exclude the first third, in which caches fill up. */
export const createSoak = () => {
  const began = performance.now()
  const samples = new Map<string, Sample[]>()
  return {
    measure: ({ services }: Installation): void => {
      for (const service of services) {
        const memory = service.memory()
        if (memory === null) continue
        const own = samples.get(service.name) ?? []
        samples.set(service.name, own)
        const minutes = (performance.now() - began) / 60_000
        own.push({ minutes, megabytes: memory.residentBytes / 2 ** 20, descriptors: memory.descriptors })
      }
    },
    report: (): string[] =>
      [...samples].map(([name, own]) => {
        const late = own.slice(Math.floor(own.length / 3))
        const last = late.at(-1)
        if (last === undefined || late.length < 3) return `${name}: too short to tell`
        const memory = slope(late, (each) => each.megabytes).toFixed(2)
        const descriptors = slope(late, (each) => each.descriptors).toFixed(3)
        return (
          `${name}: ${last.megabytes.toFixed(0)} MB (${memory} a minute), ` +
          `${last.descriptors} descriptors (${descriptors} a minute), over ${(last.minutes - late[0]!.minutes).toFixed(1)} minutes`
        )
      }),
  }
}
