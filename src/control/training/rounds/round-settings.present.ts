/** How a round's devices were drawn; empty for rounds from before version 1.1. */
export const presentSampling = ({
  sampling,
  population,
}: {
  readonly sampling?: 'poisson'
  readonly population?: number
}) =>
  sampling === undefined || population === undefined ? {} : { sampling, population, adjacency: 'zero-out' as const }

/** The privacy cost of one round alone. Limits epsilon, because JSON cannot represent infinity. */
export const presentCost = ({
  delta,
  epsilon,
  accountant,
}: {
  readonly delta?: number
  readonly epsilon?: number
  readonly accountant?: 'rdp' | 'pld'
}) =>
  delta === undefined || epsilon === undefined || accountant === undefined
    ? {}
    : { target_delta: delta, epsilon: Math.min(epsilon, Number.MAX_VALUE), accountant }
