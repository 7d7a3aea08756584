import type { Dataset } from './dataset.ts'
import type { DenseNetwork } from './dense-network.ts'
import type { Objective } from './sgd.ts'

/** Runs one network over rows of one data set, with its working memory allocated once. */
export interface Pass {
  /** Returns the loss of one row (natural log); stores the scores for `backward` and `predicted`. */
  forward(parameters: Float64Array, row: number): number
  /** Returns the class with the highest score in the last `forward`; the lowest index wins a tie. */
  predicted(): number
  /** Adds `scale` times the gradient of the last `forward`'s loss to `gradient`. */
  backward(parameters: Float64Array, row: number, scale: number, gradient: Float64Array): void
}

/** Softmax cross-entropy: loss = log(sum_c exp(z_c)) - z_label, shifted by max z so that exp never overflows. */
export const crossEntropyPass = (network: DenseNetwork, data: Dataset): Pass => {
  const { layers, classes } = network
  const outputs = layers.map((layer) => new Float64Array(layer.outputs))
  const deltas = layers.map((layer) => new Float64Array(layer.outputs))
  const scores = outputs.at(-1)!
  const width = data.featureCount

  const forward = (parameters: Float64Array, row: number): number => {
    let input = data.features
    let inputAt = row * width
    for (let depth = 0; depth < layers.length; depth++) {
      const layer = layers[depth]!
      const output = outputs[depth]!
      const hidden = depth < layers.length - 1
      const inputs = layer.inputs
      for (let unit = 0; unit < layer.outputs; unit++) {
        let sum = layer.biasName === null ? 0 : parameters[layer.biasAt + unit]!
        const weightAt = layer.weightAt + unit * inputs
        for (let index = 0; index < inputs; index++) sum += parameters[weightAt + index]! * input[inputAt + index]!
        // Not `sum > 0 ? sum : 0`: that would turn NaN into 0 and hide a diverged model.
        output[unit] = hidden && sum < 0 ? 0 : sum
      }
      input = output
      inputAt = 0
    }
    let highest = Number.NEGATIVE_INFINITY
    for (let unit = 0; unit < classes; unit++) highest = Math.max(highest, scores[unit]!)
    let total = 0
    for (let unit = 0; unit < classes; unit++) total += Math.exp(scores[unit]! - highest)
    const logTotal = highest + Math.log(total)
    const delta = deltas.at(-1)!
    for (let unit = 0; unit < classes; unit++) delta[unit] = Math.exp(scores[unit]! - logTotal)
    const label = data.labels[row]!
    delta[label] = delta[label]! - 1
    return logTotal - scores[label]!
  }

  const predicted = (): number => {
    let best = 0
    for (let unit = 1; unit < classes; unit++) if (scores[unit]! > scores[best]!) best = unit
    return best
  }

  const backward = (parameters: Float64Array, row: number, scale: number, gradient: Float64Array): void => {
    for (let depth = layers.length - 1; depth >= 0; depth--) {
      const { inputs, outputs: units, weightAt, biasAt, biasName } = layers[depth]!
      const delta = deltas[depth]!
      const below = depth > 0 ? outputs[depth - 1]! : null
      const deltaBelow = depth > 0 ? deltas[depth - 1]! : null
      const input = below ?? data.features
      const inputAt = below ? 0 : row * width
      deltaBelow?.fill(0)
      for (let unit = 0; unit < units; unit++) {
        const slope = delta[unit]!
        if (slope === 0) continue
        const at = weightAt + unit * inputs
        const step = slope * scale
        for (let index = 0; index < inputs; index++) gradient[at + index]! += step * input[inputAt + index]!
        if (biasName !== null) gradient[biasAt + unit]! += step
        if (deltaBelow)
          for (let index = 0; index < inputs; index++) deltaBelow[index]! += slope * parameters[at + index]!
      }
      if (below && deltaBelow) for (let unit = 0; unit < inputs; unit++) if (below[unit] === 0) deltaBelow[unit] = 0
    }
  }

  return { forward, predicted, backward }
}

/** Returns the mean cross-entropy of a network over a data set, as an objective to minimize. */
export const crossEntropy = (network: DenseNetwork, data: Dataset): Objective => {
  const pass = crossEntropyPass(network, data)
  return {
    sampleCount: data.labels.length,
    gradient: (parameters, samples, gradient) => {
      gradient.fill(0)
      let loss = 0
      for (let index = 0; index < samples.length; index++) {
        const row = samples[index]!
        loss += pass.forward(parameters, row)
        pass.backward(parameters, row, 1 / samples.length, gradient)
      }
      return loss / samples.length
    },
  }
}
