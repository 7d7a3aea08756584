import { type Static, type TSchema, Type } from 'typebox'
import { REPORTED_RANGE } from '../../domain/reported-number.ts'

/** Pieces that several resources' bodies share. */
export const Timestamp = Type.String({ format: 'date-time', description: 'ISO 8601, UTC' })
export const Uuid = Type.String({ format: 'uuid' })
export const Nullable = <Schema extends TSchema>(schema: Schema) => Type.Union([schema, Type.Null()])
export const Count = Type.Integer({ minimum: 0 })

/** One of a fixed set of words, as the field's standard `enum`. */
export const OneOf = <const Words extends readonly string[]>(words: Words, options: object = {}) =>
  Type.Unsafe<Words[number]>({ type: 'string', enum: [...words], ...options })

export const FreeObject = Type.Record(Type.String(), Type.Unknown())

/** What a device reports of itself. */
export const ReportedValues = Type.Record(Type.String(), Type.Unknown(), { description: REPORTED_RANGE })

export const Page = (limits: { readonly max: number; readonly default: number }) => ({
  limit: Type.Integer({ minimum: 1, maximum: limits.max, default: limits.default }),
  offset: Type.Integer({ minimum: 0, default: 0 }),
})

export const Envelope = { total: Count, limit: Type.Integer(), offset: Count }

/** A file as it travels in a multipart body or a download. */
export const Binary = Type.Unsafe<unknown>({ type: 'string', format: 'binary' })

/** The bytes of a body that is nothing else. */
export const Bytes = Type.Unsafe<unknown>({})

export type { Static }
