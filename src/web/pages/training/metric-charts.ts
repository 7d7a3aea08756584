import { goalOf } from '../../../domain/metrics.ts'
import { capital, measure, percent } from '../../text/format.ts'
import type { Round } from './training-records.ts'

/** A chart of a job's metric: what is measured, where, and how to read it from a round. */
export interface MetricChart {
  /** The panel's title: which model, on what data. */
  readonly title: string
  /** A short name. */
  readonly name: string
  readonly better: 'lowest' | 'highest'
  readonly format: (value: number | null) => string
  readonly readFrom: (round: Round) => number | null
}

const MAX_CHARTS = 12

const betterOf = (name: string) => (goalOf(name) === 'minimize' ? 'lowest' : 'highest')
const formatOf = (name: string) => (name === 'accuracy' ? percent : measure)

const trained = (name: string): MetricChart => ({
  title: `Training ${name} on the devices`,
  name: capital(name),
  better: betterOf(name),
  format: formatOf(name),
  readFrom: (round) =>
    (name === 'loss' ? round.loss : name === 'accuracy' ? round.accuracy : round.metrics?.[name]?.mean) ?? null,
})

const evaluated = (name: string): MetricChart => ({
  title: `${capital(name)} of the new model on held-out data`,
  name: `Held-out ${name}`,
  better: betterOf(name),
  format: formatOf(name),
  readFrom: ({ evaluation }) => evaluation?.metrics[name]?.mean ?? null,
})

const FIRST = ['loss', 'accuracy']
const inOrder = (names: ReadonlySet<string>): readonly string[] => [
  ...FIRST.filter((name) => names.has(name)),
  ...[...names].filter((name) => !FIRST.includes(name)).sort(),
]

/** Returns the charts for these rounds: training loss first, then all other measured metrics. */
export const chartsOf = (rounds: readonly Round[]): readonly MetricChart[] => {
  const names = (of: (round: Round) => object | undefined) =>
    inOrder(new Set(rounds.flatMap((round) => Object.keys(of(round) ?? {}))))
  const exists = (chart: MetricChart) => chart.name === 'Loss' || rounds.some((round) => chart.readFrom(round) !== null)
  const inTraining = [...new Set([...FIRST, ...names(({ metrics }) => metrics)])].map(trained)
  const onHeldOut = names(({ evaluation }) => evaluation?.metrics).map(evaluated)
  return [...inTraining.slice(0, 2), ...onHeldOut, ...inTraining.slice(2)].filter(exists).slice(0, MAX_CHARTS)
}
