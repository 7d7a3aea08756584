const likeliest = (scores: Float32Array): number => {
  let best = 0
  for (let token = 1; token < scores.length; token += 1) if (scores[token]! > scores[best]!) best = token
  return best
}

/**
 * The next token: the likeliest at temperature 0, else drawn from the fewest tokens whose probabilities add up to `topP`
 * ("The Curious Case of Neural Text Degeneration", Holtzman et al. 2019).
 */
export const sample = (scores: Float32Array, temperature: number, topP: number, random: () => number): number => {
  const best = likeliest(scores)
  if (temperature === 0) return best
  const weights = scores.map((score) => Math.exp((score - scores[best]!) / temperature))
  const total = weights.reduce((sum, weight) => sum + weight, 0)
  const order = Uint32Array.from(weights.keys()).sort((one, other) => weights[other]! - weights[one]! || one - other)
  let count = 0
  let kept = 0
  while (count < order.length && (count === 0 || kept < topP * total)) kept += weights[order[count++]!]!
  let left = random() * kept
  for (let at = 0; at < count; at += 1) {
    left -= weights[order[at]!]!
    if (left < 0) return order[at]!
  }
  return order[count - 1]!
}
