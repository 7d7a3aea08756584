import { Badge } from '../../parts/cells.tsx'
import { Facts, Note, Panel, Warnings } from '../../parts/layout.tsx'
import { TablePanel } from '../../parts/list-page.tsx'
import { RangePlot } from '../../parts/range-plot.tsx'
import type { Column } from '../../parts/table.tsx'
import { count, measure, percent } from '../../text/format.ts'
import {
  boxRows,
  meanRows,
  type NameOf,
  quartileRows,
  type Result,
  resultOf,
  sortWarnings,
} from './analytics-results.ts'
import type { Query } from './federation-records.ts'
import type { GroupNames } from './use-group-names.ts'

type Of<Kind extends Result['kind']> = Extract<Result, { kind: Kind }>
type Described = Of<'descriptive'>['groups'][number]
type Pair = Of<'anova'>['post_hoc_pairs'][number]

const LEVEL = 0.95

const describedColumns = (nameOf: NameOf): readonly Column<Described>[] => [
  { name: 'Group', cell: ({ group_id }) => <strong>{nameOf(group_id)}</strong> },
  { name: 'Devices', number: true, cell: (group) => count(group.count) },
  { name: 'Mean', number: true, cell: ({ mean }) => measure(mean) },
  { name: 'Std. dev.', number: true, cell: ({ std_dev }) => measure(std_dev) },
  { name: 'Min', number: true, cell: ({ min }) => measure(min) },
  { name: '25th percentile', number: true, cell: ({ percentiles }) => measure(percentiles?.p25) },
  { name: 'Median', number: true, cell: ({ median }) => measure(median) },
  { name: '75th percentile', number: true, cell: ({ percentiles }) => measure(percentiles?.p75) },
  { name: 'Max', number: true, cell: ({ max }) => measure(max) },
]

const pairColumns = (nameOf: NameOf): readonly Column<Pair>[] => [
  { name: 'Pair', cell: ({ group_a, group_b }) => `${nameOf(group_a)} minus ${nameOf(group_b)}` },
  { name: 'Difference', number: true, cell: ({ mean_difference }) => measure(mean_difference) },
  { name: 'Adjusted p', number: true, cell: ({ p_value }) => measure(p_value) },
  { name: 'Significant', cell: ({ significant }) => <Significance is={significant} /> },
]

const Significance = ({ is }: { readonly is: boolean }) => (
  <Badge state={is ? 'significant' : 'not significant'} tone={is ? 'good' : 'idle'} />
)

const Descriptive = ({ result, nameOf }: { readonly result: Of<'descriptive'>; readonly nameOf: NameOf }) => {
  const histograms = quartileRows(result.groups, nameOf)
  return (
    <>
      <Panel title="Box plots" aside="from minimum to maximum; the box is the middle half, ○ the mean">
        <RangePlot label="Box plots" axis={result.variable} rows={boxRows(result.groups, nameOf)} />
      </Panel>
      {histograms.length > 0 && (
        <Panel title="Histograms" aside="of quartiles: each bar contains a quarter of the devices">
          <RangePlot label="Histograms" axis={result.variable} rows={histograms} />
        </Panel>
      )}
      <TablePanel
        title="Groups"
        aside={result.variable}
        columns={describedColumns(nameOf)}
        rows={result.groups}
        rowKey="group_id"
      />
    </>
  )
}

const Means = ({ result, level, nameOf }: { result: Of<'t-test' | 'anova'>; level: number; nameOf: NameOf }) => (
  <Panel title="Means" aside={`○ the mean, with its ${percent(level, 0)} interval`}>
    <RangePlot label="Means" axis={result.variable} rows={meanRows(result.groups, level, nameOf)} />
  </Panel>
)

const TTest = ({ result, nameOf }: { readonly result: Of<'t-test'>; readonly nameOf: NameOf }) => {
  const { confidence_interval: interval, groups } = result
  const difference = groups.length === 2 ? groups[0]!.mean - groups[1]!.mean : null
  return (
    <>
      <Means result={result} level={interval?.level ?? LEVEL} nameOf={nameOf} />
      {interval !== null && difference !== null && (
        <Panel title="Difference" aside="significant if the interval excludes zero">
          <RangePlot
            label="Difference"
            axis={result.variable}
            zero
            rows={[
              {
                key: 'difference',
                label: `${nameOf(groups[0]!.group_id)} minus ${nameOf(groups[1]!.group_id)}`,
                text: `Difference ${measure(difference)}, ${measure(interval.lower)} to ${measure(interval.upper)}`,
                dot: difference,
                whiskers: [interval.lower, interval.upper],
              },
            ]}
          />
        </Panel>
      )}
      <Panel title="Welch’s t-test" aside={<Significance is={result.significant} />}>
        <Facts
          entries={[
            ['Difference', measure(difference)],
            [
              interval === null ? 'Interval' : `${percent(interval.level, 0)} interval`,
              interval === null ? 'not known' : `${measure(interval.lower)} to ${measure(interval.upper)}`,
            ],
            ['p', measure(result.p_value)],
            ['t', measure(result.t_statistic)],
            ['Degrees of freedom', measure(result.degrees_of_freedom)],
            ['Effect size (Cohen’s d)', measure(result.effect_size)],
          ]}
        />
      </Panel>
    </>
  )
}

const Anova = ({ result, nameOf }: { readonly result: Of<'anova'>; readonly nameOf: NameOf }) => (
  <>
    <Means result={result} level={LEVEL} nameOf={nameOf} />
    <Panel title="Analysis of variance" aside={<Significance is={result.significant} />}>
      <Facts
        entries={[
          ['F', measure(result.f_statistic)],
          ['p', measure(result.p_value)],
          [
            'Degrees of freedom',
            `${count(result.degrees_of_freedom_between)} and ${count(result.degrees_of_freedom_within)}`,
          ],
          ['Effect size (eta squared)', measure(result.effect_size)],
        ]}
      />
    </Panel>
    {result.post_hoc_pairs.length > 0 && (
      <TablePanel
        title="Pairs"
        aside="Tukey’s test"
        columns={pairColumns(nameOf)}
        rows={result.post_hoc_pairs}
        rowKey={({ group_a, group_b }) => `${group_a} ${group_b}`}
      />
    )}
  </>
)

const ChiSquare = ({ result }: { readonly result: Of<'chi-square'> }) => (
  <Panel title="Pearson’s chi-square test" aside={<Significance is={result.significant} />}>
    <Facts
      entries={[
        ['χ²', measure(result.chi_square_statistic)],
        ['p', measure(result.p_value)],
        ['Degrees of freedom', count(result.degrees_of_freedom)],
        ['Cramér’s V', measure(result.cramers_v)],
        ['Devices', count(result.sample_size)],
      ]}
    />
  </Panel>
)

const Shown = ({ result, nameOf }: { readonly result: Result; readonly nameOf: NameOf }) => {
  if (result.kind !== 'chi-square' && result.groups.length === 0) {
    return <Note title="Groups" text="No group can be shown." />
  }
  switch (result.kind) {
    case 'descriptive':
      return <Descriptive result={result} nameOf={nameOf} />
    case 't-test':
      return <TTest result={result} nameOf={nameOf} />
    case 'anova':
      return <Anova result={result} nameOf={nameOf} />
    case 'chi-square':
      return <ChiSquare result={result} />
  }
}

/** A query's result in plots and tables, preceded by the withheld groups. */
export const AnalyticsResult = ({ query, names }: { readonly query: Query; readonly names: GroupNames }) => {
  const result = resultOf(query)
  if (result === null) return <Note title="No result" text={query.reason ?? 'The query failed.'} />
  const { withheld, others } = sortWarnings(result.warnings, names.groups)
  return (
    <>
      {withheld.length + others.length > 0 && (
        <Panel title={withheld.length > 0 ? 'Withheld' : 'Note'}>
          <Warnings texts={[...withheld, ...others]} />
        </Panel>
      )}
      <Shown result={result} nameOf={(id) => names.groups.get(id) ?? id} />
    </>
  )
}
