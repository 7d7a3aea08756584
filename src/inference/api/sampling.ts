import { type Static, Type } from 'typebox'
import type { Sampling } from '../engines/engine.ts'
import { invalid } from './request-body.ts'

const penalty = Type.Optional(Type.Number({ minimum: -2, maximum: 2 }))
const factor = Type.Optional(Type.Number({ exclusiveMinimum: 0, maximum: 2 }))

/** OpenAI's options, and those of other local servers. */
export const SAMPLING_FIELDS = {
  top_k: Type.Optional(Type.Integer({ minimum: -1, maximum: 2 ** 31 - 1 })),
  min_p: Type.Optional(Type.Number({ minimum: 0, maximum: 1 })),
  presence_penalty: penalty,
  frequency_penalty: penalty,
  repeat_penalty: factor,
  repetition_penalty: factor,
}

const SamplingBody = Type.Object(SAMPLING_FIELDS)

/** The values that change nothing. */
const NEUTRAL: Readonly<Record<keyof typeof SAMPLING_FIELDS, readonly number[]>> = {
  top_k: [0, -1],
  min_p: [0],
  presence_penalty: [0],
  frequency_penalty: [0],
  repeat_penalty: [1],
  repetition_penalty: [1],
}

/** @throws InferenceError invalid_request if the two names of one option have different values */
export const readSampling = (body: Static<typeof SamplingBody>): Sampling => {
  const { repeat_penalty: one, repetition_penalty: other } = body
  if (one !== undefined && other !== undefined && one !== other)
    throw invalid('repeat_penalty and repetition_penalty are two names of one option. Send one.', 'repetition_penalty')
  const names = Object.keys(NEUTRAL) as (keyof typeof NEUTRAL)[]
  return Object.fromEntries(
    names.flatMap((name) => {
      const value = body[name]
      return value === undefined || NEUTRAL[name].includes(value) ? [] : [[name, value]]
    }),
  )
}
