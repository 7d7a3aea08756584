import { Type } from 'typebox'
import { OneOf } from '../../../platform/http/wire.schema.ts'

export const NoiseMultiplier = Type.Number({ exclusiveMinimum: 0, maximum: 1000 })
export const ClipNorm = Type.Number({ exclusiveMinimum: 0, maximum: 1e9 })

export const TargetDelta = Type.Number({
  exclusiveMinimum: 0,
  exclusiveMaximum: 1,
  description: 'The delta at which epsilon is reported; 1e-5 when absent',
})
export const AccountantName = OneOf(['rdp', 'pld'], {
  title: 'Accountant',
  description: 'Which bound is the tighter one',
})

/** Clipping and noise: what can be said of a round, and of a job. */
export const RoundPrivacy = Type.Object(
  {
    noise_multiplier: NoiseMultiplier,
    clip_norm: ClipNorm,
    adaptive_clip: Type.Optional(Type.Boolean()),
    target_delta: Type.Optional(TargetDelta),
  },
  {
    title: 'NewRoundPrivacy',
    'x-extension': true,
    description: 'Every update is clipped to clip_norm, and their sum gets Gaussian noise',
  },
)

/** How a private round draws its devices; absent in rounds of before version 1.1. */
export const Sampling = {
  sampling: Type.Optional(
    OneOf(['poisson'], { description: 'Every eligible device is drawn independently with the same probability' }),
  ),
  population: Type.Optional(
    Type.Integer({
      minimum: 0,
      description: 'Eligible devices N; sample_rate is target_devices / N, both fixed before the draw',
    }),
  ),
  adjacency: Type.Optional(
    OneOf(['zero-out'], {
      description: 'What epsilon compares: a device that takes part with the same device sending nothing, N unchanged',
    }),
  ),
}
