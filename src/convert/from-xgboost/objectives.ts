import { badRequest } from '../../domain/errors.ts'
import { ownEntry } from '../../domain/own-entry.ts'
import type { GraphBuilder } from '../onnx/graph-builder.ts'
import { int } from '../onnx/model.ts'
import { scalarOf, tensorOf } from '../onnx/tensors.ts'

/** How an objective transforms the sum of the leaves. Source: dmlc/xgboost src/objective, PredTransform and ProbToMargin. */
interface Objective {
  readonly gives: 'value' | 'two classes' | 'classes'
  readonly transform: 'identity' | 'exp' | 'sigmoid' | 'step' | 'softmax'
  /** How base_score is transformed to the space in which leaves are summed. */
  readonly baseMargin: 'identity' | 'log' | 'logit'
}

const VALUE: Objective = { gives: 'value', transform: 'identity', baseMargin: 'identity' }
const POSITIVE: Objective = { gives: 'value', transform: 'exp', baseMargin: 'log' }
const CLASSES: Objective = { gives: 'classes', transform: 'softmax', baseMargin: 'identity' }

const all = (names: string, objective: Objective): Record<string, Objective> =>
  Object.fromEntries(names.split(' ').map((name) => [name, objective]))

const OBJECTIVES: Readonly<Record<string, Objective>> = {
  ...all('reg:squarederror reg:linear reg:squaredlogerror reg:pseudohubererror reg:absoluteerror', VALUE),
  ...all('reg:quantileerror reg:expectileerror', VALUE),
  'reg:logistic': { gives: 'value', transform: 'sigmoid', baseMargin: 'logit' },
  ...all('reg:gamma reg:tweedie count:poisson survival:cox survival:aft', POSITIVE),
  'binary:logistic': { gives: 'two classes', transform: 'sigmoid', baseMargin: 'logit' },
  'binary:logitraw': VALUE,
  'binary:hinge': { gives: 'two classes', transform: 'step', baseMargin: 'identity' },
  ...all('multi:softprob multi:softmax', CLASSES),
  ...all('rank:pairwise rank:ndcg rank:map', VALUE),
}

/** Finds an objective by name. Throws bad_request if it has no transformation here, such as a custom objective. */
export const objectiveOf = (name: string): Objective => {
  const objective = ownEntry(OBJECTIVES, name)
  if (objective !== undefined) return objective
  throw badRequest(
    `The XGBoost objective '${name}' cannot be converted. The supported objectives are ${Object.keys(OBJECTIVES).join(', ')}.`,
  )
}

/** base_score in the space of the leaf sums. */
export const baseMargin = (objective: Objective, baseScore: number): number => {
  const [log, logit] = [Math.log(baseScore), Math.log(baseScore / (1 - baseScore))]
  const margins = { identity: baseScore, log, logit }
  const margin = margins[objective.baseMargin]
  if (!Number.isFinite(margin)) throw badRequest(`The XGBoost model's base_score of ${baseScore} is out of range.`)
  return margin
}

const transformed = (graph: GraphBuilder, { transform }: Objective, margin: string): string => {
  if (transform === 'identity') return margin
  if (transform === 'exp') return graph.node('Exp', [margin])
  if (transform === 'sigmoid') return graph.node('Sigmoid', [margin])
  if (transform === 'softmax') return graph.node('Softmax', [margin], { axis: int(1) })
  const zero = graph.constant('zero', scalarOf('f32', 0))
  return graph.node('Cast', [graph.node('Greater', [margin, zero])], { to: int(1) })
}

/** Adds the graph's outputs for the leaf sums, [batch, groups]: `variable`, or `label` and `probabilities`. */
export const addOutputs = (graph: GraphBuilder, objective: Objective, margin: string, groups: number): void => {
  const values = transformed(graph, objective, margin)
  if (objective.gives === 'value' || (objective.gives === 'two classes' && groups > 1)) {
    graph.output('variable', values, 'f32', ['batch', groups])
    return
  }
  if (objective.gives === 'classes') {
    const label = graph.node('ArgMax', [values], { axis: int(1), keepdims: int(0) })
    graph.output('label', label, 'i64', ['batch'])
    graph.output('probabilities', values, 'f32', ['batch', groups])
    return
  }
  const flat = graph.constant('flat', tensorOf('i64', [1], [-1]))
  const half = graph.constant('half', scalarOf('f32', 0.5))
  const above = graph.node('Reshape', [graph.node('Greater', [values, half]), flat])
  graph.output('label', graph.node('Cast', [above], { to: int(7) }), 'i64', ['batch'])
  const one = graph.constant('one', scalarOf('f32', 1))
  const both = graph.node('Concat', [graph.node('Sub', [one, values]), values], { axis: int(1) })
  graph.output('probabilities', both, 'f32', ['batch', 2])
}
