import type { OnnxModel } from '../onnx/model.ts'

/** Operators whose output begins with the columns of their first input. */
const PASSED: ReadonlySet<string> = new Set(['Cast', 'Identity', 'Concat'])

/** The thresholds of trees for each column of an input; null if no trees read the input directly. */
export const treeThresholds = ({ graph }: OnnxModel, input: string, columns: number): readonly number[][] | null => {
  const names = new Set([input])
  const thresholds = Array.from({ length: columns }, (): number[] => [])
  for (const { type, domain, inputs, outputs, attributes } of graph.nodes) {
    if (!names.has(inputs[0] ?? '')) continue
    if (PASSED.has(type)) names.add(outputs[0] ?? '')
    if (domain !== 'ai.onnx.ml' || !type.startsWith('TreeEnsemble')) continue
    const { nodes_featureids: features, nodes_values: values, nodes_modes: modes } = attributes
    if (features?.kind !== 'ints' || values?.kind !== 'floats' || modes?.kind !== 'strings') continue
    for (const [at, feature] of features.value.entries())
      if (modes.value[at] !== 'LEAF') thresholds[Number(feature)]?.push(values.value[at]!)
  }
  return thresholds.some((values) => values.length > 0) ? thresholds : null
}
